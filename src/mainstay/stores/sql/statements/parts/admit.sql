-- The admission step: the only place that makes a job queued or scheduled, and that gives it its place in the order.
-- A job whose time has not come is scheduled, and its place is that time. A job that rules may hold back ({held} is not NULL) is
-- blocked, and waits for {waits}; `sql/admission.py` examines it. Every other job is queued at {place}: the present for a job
-- that enters anew, its old place for one that comes back.
state = CASE WHEN {run_at} > {now} THEN 'scheduled' WHEN {held} IS NOT NULL THEN 'blocked' ELSE 'queued' END
ord = CASE WHEN {run_at} > {now} THEN {run_at} ELSE {place} END
waits = CASE WHEN {run_at} > {now} THEN NULL WHEN {held} IS NOT NULL THEN {waits} ELSE NULL END
