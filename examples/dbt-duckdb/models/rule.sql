-- The rule that is proposed: on every page the banner that was clicked most often before the evaluated days.
{{ config(materialized='external', location='rule.csv', format='csv') }}

with rates as (
    select
        page,
        banner,
        avg(click) as rate
    from {{ ref('log') }}
    where shown_at < timestamp '{{ var("evaluated_from") }}'
    group by page, banner
)

select
    page,
    arg_max(banner, rate) as banner
from rates
group by page
order by page
