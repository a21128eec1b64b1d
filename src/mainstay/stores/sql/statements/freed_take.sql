-- Removes slots that may have room, and returns them. A slot that is freed while this runs has a row of its own, which stays.
DELETE FROM mainstay.freed WHERE ctid = ANY (ARRAY(SELECT f.ctid FROM mainstay.freed f LIMIT :limit::bigint)) RETURNING slot
