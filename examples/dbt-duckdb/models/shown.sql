-- Stands for your table of impressions: a month in which the banner of a page changed every day, by a rule.
with every as (
    select
        i as shown_id,
        timestamp '2026-03-01' + interval (i * 4) minute as shown_at,
        i * 7919 % 6 as place
    from range(10800) as numbers (i)
)

select
    shown_id,
    shown_at,
    ['home', 'shoes', 'hats', 'bags', 'sale', 'search'][place + 1] as page,
    ['new', 'sale', 'brand'][(place + day(shown_at)) % 3 + 1] as banner
from every
