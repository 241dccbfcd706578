"""Short Lua scripts for Redis: an operation that reads and then writes runs there as one command.

Redis runs a script without interruption. So no process has to watch keys and try again, however many ask at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis import Redis

_PAUSED = """
local paused, length = redis.call('PTTL', KEYS[1]), tonumber(redis.call('GET', KEYS[1]) or '0')
if length > 1 and paused > length then
  redis.call('PEXPIRE', KEYS[1], length)
  paused = length
end
local delay = math.max(0, paused) / 1000
"""
PAUSED = _PAUSED + "return string.format('%.6f', delay)"
"""Gives the seconds for which a pause still holds. Key: the pause, whose value is its length in milliseconds.

Redis keeps the moment at which a key ends. When its clock is set back, the key would stay for that much longer; so a
pause that would outlast its length begins again. Older versions wrote 1, which says nothing of the length.
"""

TAKE_SLOT = (
    _PAUSED
    + """
local every, ahead, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if delay <= longest then
  local time = redis.call('TIME')
  local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
  local due = math.max(tonumber(redis.call('GET', KEYS[2]) or '0'), now)
  if due - now > tonumber(ARGV[4]) then due = now end
  local slot = math.max(0, due - now - ahead)
  if slot <= longest then
    local after = due + every
    redis.call('SET', KEYS[2], string.format('%.6f', after), 'PX', math.floor((after - now) * 1000) + 1000)
  end
  delay = math.max(delay, slot)
end
return string.format('%.6f', delay)
"""
)
"""Takes the next slot of a rate budget, if it comes soon enough; gives the seconds until then.

Keys: the pause, the bucket. Arguments: seconds per call, seconds that the bucket may be ahead, the longest wait, and
seconds after which no slot can have been given: a bucket beyond is from before the clock was set back, and is empty.
A call that is not made takes no slot.
"""

ARE_THERE = """
local found = {}
for place, key in ipairs(KEYS) do
  local left = redis.call('PTTL', key)
  if left > tonumber(ARGV[1]) then redis.call('PEXPIRE', key, ARGV[1]) end
  found[place] = left == -2 and 0 or 1
end
return found
"""
"""Says of each key whether it is there. Argument: the milliseconds for which such a key is set at most.

One that would stay longer was set before the clock of Redis was set back. From now on it has this time.
"""

RENEW = """
local renewed = {}
for place, key in ipairs(KEYS) do
  local owner, own = redis.call('GET', key), ARGV[place + 1]
  if owner and owner ~= own then
    renewed[place] = 0
  else
    redis.call('SET', key, own, 'PX', ARGV[1])
    renewed[place] = 1
  end
end
return renewed
"""
"""Extends those of the keys that have their value, and sets those that are gone; 0 for each that has another value.

Arguments: milliseconds, then a value for each key.
"""

DROP = """
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
"""
"""Deletes a key that has this value."""

TAKE_LEASE = """
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  redis.call('DEL', KEYS[2])
  return 1
end
redis.call('SET', KEYS[2], '1', 'EX', ARGV[3])
return 0
"""
"""Takes a lease that nobody has; else leaves a mark that somebody came for it.

Keys: the lease, the mark. Arguments: the owner, milliseconds of the lease, seconds that the mark is kept.
"""

GIVE_BACK = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 1
end
redis.call('DEL', KEYS[1])
if redis.call('DEL', KEYS[2]) == 1 then
  return 1
end
return 2 * redis.call('EXISTS', KEYS[3])
"""
"""Gives a lease back; 1 if somebody came for it meanwhile, or if it is not the owner's any more; 2 if nobody did, and
a thread had to wait for a place; else 0.

Keys: the lease, the mark that somebody came, the mark that a thread waits. Argument: the owner.
"""

DROP_OF = """
local dropped = 0
for _, key in ipairs(KEYS) do
  local owner = redis.call('GET', key)
  if owner and string.sub(owner, 1, #ARGV[1]) == ARGV[1] then
    dropped = dropped + redis.call('DEL', key)
  end
end
return dropped
"""
"""Deletes those of the keys whose value begins with the argument; gives how many."""

WAKE = """
local id, prefix, node, shared = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local is_on_node = node ~= '' and redis.call('EXISTS', KEYS[5]) == 1
local name, queue = shared, KEYS[4]
if is_on_node then name, queue = node, KEYS[3] end
local mark = redis.call('GET', KEYS[1])
if mark then
  local split = string.find(mark, ' ', 1, true)
  if split and string.sub(mark, split + 1) == name then
    local known = string.sub(mark, 1, split - 1)
    if redis.call('LPOS', queue, known) and redis.call('EXISTS', prefix .. known) == 1 then
      return 0
    end
  end
end
redis.call('SET', KEYS[1], id .. ' ' .. name, 'EX', ARGV[5])
redis.call('SADD', KEYS[6], queue)
redis.call('HSET', KEYS[2], unpack(ARGV, 7))
redis.call('HSET', KEYS[2], 'origin', name)
redis.call('EXPIRE', KEYS[2], ARGV[5])
redis.call(ARGV[6], queue, id)
return 1
"""
"""Puts a job into the queue of its node, or into the shared one when that node is gone; 0 if one waits there already.

Keys: the thread's wake, the job, the node's queue, the shared queue, the node, the set of queues. Arguments: the id of
the job, what the key of a job begins with, the name of the node's queue ("" for none), that of the shared one, seconds
that the job is kept, LPUSH or RPUSH, and the fields of the job.
"""

TAKE = """
for _, queue in ipairs(KEYS) do
  local id = redis.call('LPOP', queue)
  while id do
    local key = ARGV[1] .. id
    local job = redis.pcall('HGETALL', key)
    redis.call('DEL', key)
    if job.err or #job > 0 then
      return {id, job.err and {} or job}
    end
    id = redis.call('LPOP', queue)
  end
end
return false
"""
"""Takes the first job of the first queue that has one, and deletes it; gives its id and its fields.

Keys: the queues. Argument: what the key of a job begins with. Jobs that have expired are passed over.
"""

COUNT_TRY = """
local tries = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[1])
return {tries, tonumber(redis.call('GET', KEYS[2]) or '0')}
"""
"""Raises a counter that is kept for some seconds; gives it, and another counter."""

TAKE_BACK_TRY = """
if redis.call('EXISTS', KEYS[1]) == 1 then
  return redis.call('DECR', KEYS[1])
end
return 0
"""
"""Lowers a counter of `COUNT_TRY`. One that is gone stays so: it would come back without an end."""

ENTER = """
local entries = redis.call('HGETALL', KEYS[1])
local all, in_channel, of_person = 0, 0, 0
for place = 1, #entries, 2 do
  local thread, where = entries[place], entries[place + 1]
  if redis.call('EXISTS', ARGV[3] .. thread) == 0 then
    redis.call('HDEL', KEYS[1], thread)
  elseif thread ~= ARGV[1] then
    local known = cjson.decode(where)
    all = all + 1
    if known[1] == ARGV[4] then in_channel = in_channel + 1 end
    if known[2] == ARGV[5] then of_person = of_person + 1 end
  end
end
local function is_full(limit, count)
  return tonumber(limit) > 0 and count >= tonumber(limit)
end
if is_full(ARGV[6], all) or is_full(ARGV[7], in_channel) or is_full(ARGV[8], of_person) then
  redis.call('SET', KEYS[2], '1', 'EX', ARGV[9])
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
"""
"""Counts a thread as running if the limits allow it, and forgets the entries of threads whose lease has ended.

A thread that must wait leaves a mark for the next one that ends.

Keys: the hash of running threads, the mark. Arguments: the thread, its entry ([channel, person, …] as JSON), what the
key of a lease begins with, the channel, the person, the limits in all, per channel and per person (0 is no limit), and
seconds that the mark is kept.
"""


LEAVE = """
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then
  return redis.call('HDEL', KEYS[1], ARGV[1])
end
return 0
"""
"""Counts a thread as running no more, unless another worker has entered it since.

Key: the hash of running threads. Arguments: the thread, its entry.
"""


def run(redis: Redis, script: str, keys: Sequence[str], *arguments: str | float) -> Any:
    """What the script gives. Redis keeps it by its hash, so its text is sent once. Raises redis.RedisError."""
    return redis.register_script(script)(keys=list(keys), args=list(arguments))
