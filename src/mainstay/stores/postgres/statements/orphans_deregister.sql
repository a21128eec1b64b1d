-- Removes workers whose lease has run out, so that none of them can come back to it. Judged again on the row itself: a beat
-- that comes at the same moment is heard.
DELETE FROM mainstay.worker WHERE expires_at <= (SELECT coalesce($1::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint))
