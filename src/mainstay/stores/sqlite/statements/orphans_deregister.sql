-- Removes workers whose lease has run out, so that none of them can come back to it.
DELETE FROM mainstay_worker WHERE expires_at <= :now RETURNING id
