-- Removes workers whose lease has expired, so that none of them can renew it. PostgreSQL checks a row again that was renewed
-- meanwhile.
DELETE FROM mainstay.worker WHERE expires_at <= {lease_now} AND NOT id = ANY (:spared::text[])
