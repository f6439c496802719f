-- One row for every impression, with what was known (page), what was shown (banner) and what came of it (click).
select
    shown.shown_id,
    shown.shown_at,
    shown.page,
    shown.banner,
    (clicked.shown_id is not null)::integer as click
from {{ ref('shown') }} as shown
left join {{ ref('clicked') }} as clicked
    on
        shown.shown_id = clicked.shown_id
        and clicked.clicked_at < shown.shown_at + interval 1 hour
