-- Runs in Redis: accepts a counter and spends a challenge, or does neither.
-- KEYS: the device's counter, the challenge. ARGV: the counter, milliseconds of a challenge's life.
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
if tonumber(ARGV[1]) <= last then return 2 end
if not redis.call('SET', KEYS[2], '', 'NX', 'PX', ARGV[2]) then return 3 end
redis.call('SET', KEYS[1], ARGV[1])
return 1
