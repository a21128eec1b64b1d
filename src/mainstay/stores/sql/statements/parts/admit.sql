-- The admission step: the only place that makes a job queued or scheduled, and that gives it its place in the order.
-- A job whose time has not come is scheduled, and its place is that time. Every other job is queued at {place}: the present
-- for a job that enters anew, its old place for one that comes back. Rules that hold a job back (limits, parents) belong here.
state = CASE WHEN {run_at} > {now} THEN 'scheduled' ELSE 'queued' END
ord = CASE WHEN {run_at} > {now} THEN {run_at} ELSE {place} END
