-- Stands for your table of clicks, which come later. Hats and bags like another banner than the other pages.
with chances as (
    select
        *,
        ('0x' || substr(md5('click ' || shown_id), 1, 8))::bigint / 4294967296.0 as chance,
        case when (page in ('hats', 'bags')) = (banner = 'brand') then 0.16 else 0.08 end as rate
    from {{ ref('shown') }}
)

select
    shown_id,
    shown_at + interval (shown_id % 50) minute as clicked_at
from chances
where chance < rate
