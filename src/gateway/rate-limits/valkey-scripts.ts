import { createHash } from 'node:crypto';

/** A Lua script, which Valkey runs atomically. All of its keys have one hash tag, so that a cluster has them in one place. */
export interface Script {
  readonly text: string;
  /** Name under which the server remembers it. */
  readonly sha1: string;
}

/** How many reports on pools are kept, about, and for how long after the last one. */
const poolReportsKept = { withPrompts: 2048, workAlone: 256, silentMs: 900_000 } as const;

/** A replica's report on the demand counts for so long. */
export const demandFreshMs = 3_000;

const script = (text: string): Script => ({ text, sha1: createHash('sha1').update(text).digest('hex') });

/**
 * Milliseconds by the server's clock, the only clock that all replicas share. They are counted from 2023, so that a float is exact
 * to a hundred-thousandth of a millisecond. A test may give the time instead.
 */
const clock = `
local function time(given)
  if given ~= '' then return tonumber(given) end
  local t = redis.call('TIME')
  return (t[1] - 1700000000) * 1000 + t[2] / 1000
end
`;

/**
 * A hash of a workspace, a key or a tag with a budget has the requests under way. Each replica has its number of requests in \`n:REPLICA\`, and their
 * reserved amount in \`a:REPLICA\`. The last settlement was \`at\` this time, and this much was \`left\` to spend. The hash expires
 * after the longest silence that a request may have.
 *
 * \`+n\` and \`+a\` are the sums over all replicas, \`+at\` the time at which they were last added up. Each change is made in the
 * replica's fields and in the sums, so that a decision takes no longer with a thousand replicas than with one. There are no sums
 * while nothing is under way.
 */
const keepMs = 86_400_000;

/**
 * How long \`left\` counts after a settlement, milliseconds. Replicas may read the accounts so much later (docs/accounts.md: within
 * a second).
 */
const freshMs = 1_000;

/**
 * How often the sums are computed again, milliseconds, without the reports of dead replicas. Requests of a dead replica count for
 * so much longer. Computing takes 9 ms with 1,000 replicas (measured). A replica of the previous version removes the sums, like
 * those of a replica without a heartbeat. They are then computed again.
 */
const sumEveryMs = 500;

/** Changes what a replica has in progress, and the sums. */
const change = `
local function change(hash, replica, more, reserved)
  local sums = redis.call('HMGET', hash, '+n', '+a')
  local field = 'n:' .. replica
  local before = tonumber(redis.call('HGET', hash, field) or 0)
  local after = math.max(0, before + more)
  if after == 0 then redis.call('HDEL', hash, field) else redis.call('HSET', hash, field, after) end
  if sums[1] then redis.call('HSET', hash, '+n', math.max(0, sums[1] + after - before)) end

  field = 'a:' .. replica
  before = tonumber(redis.call('HGET', hash, field) or 0)
  if reserved == '0' then redis.call('HDEL', hash, field) else redis.call('HSET', hash, field, reserved) end
  if sums[2] then
    redis.call('HSET', hash, '+a', string.format('%.17g', math.max(0, sums[2] - before + reserved)))
  end
end
`;

/** What the living replicas have in progress. Deletes the fields of dead replicas when it computes the sums. */
const underWay = `
local function under_way(hash, replica, replicas, now)
  local known = redis.call('HMGET', hash, '+n', '+a', '+at', 'left', 'at')
  local left = math.huge
  if known[5] and math.abs(now - known[5]) < ${freshMs} then left = tonumber(known[4]) end
  local at = tonumber(known[3] or 0)
  if known[1] and known[2] and at <= now and at > now - ${sumEveryMs} then
    return tonumber(known[1]), tonumber(known[2]), left
  end

  local fields = redis.call('HGETALL', hash)
  local alive = {[replica] = true}
  local places, reserved = 0, 0
  for i = 1, #fields, 2 do
    local kind, name = string.sub(fields[i], 1, 2), string.sub(fields[i], 3)
    if kind == 'n:' or kind == 'a:' then
      if alive[name] == nil then alive[name] = tonumber(redis.call('ZSCORE', replicas, name) or 0) > now end
      if not alive[name] then redis.call('HDEL', hash, fields[i])
      elseif kind == 'n:' then places = places + fields[i + 1]
      else reserved = reserved + fields[i + 1] end
    end
  end
  if places == 0 and reserved == 0 then redis.call('HDEL', hash, '+n', '+a', '+at')
  else
    redis.call('HSET', hash, '+n', places, '+a', string.format('%.17g', reserved), '+at', string.format('%.17g', now))
  end
  return places, reserved, left
end
`;

/**
 * Admits one request. If a limit refuses it, returns the limit and takes nothing. The same decision, in the same order, as
 * \`refusedBy\` of core/limits.ts. Amounts are floats here: exact up to 9,000 USD, and to a billionth of a dollar beyond.
 *
 * KEYS: bucket of the key, workspace, replicas, and each budget: the key's, then those of tags.
 * ARGV: replica, rate, burst, most in flight, balance or empty, time or empty, and the rest of each budget or empty.
 * Returns the result and the milliseconds until the bucket is full.
 */
export const admitScript = script(`${clock}${underWay}
local replica, rate, burst, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local now = time(ARGV[6])
local full_in = math.max(0, tonumber(redis.call('GET', KEYS[1]) or 0) - now)
local function keep(ms)
  redis.call('SET', KEYS[1], string.format('%.17g', now + ms), 'PX', ARGV[6] == '' and math.ceil(ms) + 1 or ${keepMs})
end
-- The bucket had another size before, or the clock was set back: it takes no longer to fill than an empty bucket.
if full_in > burst * 1000 / rate then
  full_in = burst * 1000 / rate
  keep(full_in)
end
local function answer(result) return {result, string.format('%.17g', full_in)} end

if burst - full_in * rate / 1000 + 1e-4 < 1 then return answer('rate') end
local places, reserved, left = under_way(KEYS[2], replica, KEYS[3], now)
if places >= most then return answer('concurrency') end
if ARGV[5] ~= '' and math.min(tonumber(ARGV[5]), left) <= reserved then return answer('balance') end
for i = 4, #KEYS do
  if ARGV[i + 3] ~= '' then
    local _, others, rest = under_way(KEYS[i], replica, KEYS[3], now)
    if math.min(tonumber(ARGV[i + 3]), rest) <= others then return answer(i == 4 and 'budget' or 'tag-budget') end
  end
end

full_in = full_in + 1000 / rate
keep(full_in)
redis.call('HINCRBY', KEYS[2], 'n:' .. replica, 1)
if redis.call('HEXISTS', KEYS[2], '+n') == 1 then redis.call('HINCRBY', KEYS[2], '+n', 1) end
redis.call('PEXPIRE', KEYS[2], ${keepMs})
return answer('admitted')
`);

/**
 * Reserves the expected cost of a request that is about to be dispatched. If a fund is exhausted, returns the fund and reserves
 * nothing. The same decision as \`shortOf\` of core/limits.ts, over all replicas.
 *
 * KEYS: replicas, workspace, and each budget: the key's, then those of tags.
 * ARGV: replica, and for the workspace and each budget: what is left or empty, the amount reserved for its other requests on this
 * replica, and the same with this request.
 */
export const reserveScript = script(`${clock}${change}${underWay}
local replica, now = ARGV[1], time('')
local function short(hash, others, funds)
  change(hash, replica, 0, others)
  redis.call('PEXPIRE', hash, ${keepMs})
  local _, reserved, left = under_way(hash, replica, KEYS[1], now)
  return math.min(tonumber(funds), left) <= reserved
end

local names = {nil, 'balance', 'budget'}
for i = 2, #KEYS do
  local funds = ARGV[3 * i - 4]
  if funds ~= '' and short(KEYS[i], ARGV[3 * i - 3], funds) then return names[i] or 'tag-budget' end
end
for i = 2, #KEYS do
  if ARGV[3 * i - 4] ~= '' then change(KEYS[i], replica, 0, ARGV[3 * i - 2]) end
end
return 'reserved'
`);

/**
 * Stores a replica's report of the requests and amounts that it has under way for a workspace or a budget.
 *
 * KEYS: the hash. ARGV: replica, change of the number of requests, reserved amount, rest of the funds or empty, \`1\` under a new
 * name, so that reports under the old name no longer count.
 * If two reports of the rest come within a second, the lower rest counts, because reports may come in the wrong order.
 */
export const reportScript = script(`${clock}${change}
local hash, replica, more, reserved, left = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
change(hash, replica, more, reserved)
local sums = redis.call('HMGET', hash, '+n', '+a')
if ARGV[5] == '1' or (sums[1] == '0' and sums[2] == '0') then redis.call('HDEL', hash, '+n', '+a', '+at') end
if left ~= '' then
  local now = time('')
  local known = redis.call('HMGET', hash, 'left', 'at')
  local keeps = known[1] and math.abs(now - known[2]) < ${freshMs} and tonumber(known[1]) < tonumber(left)
  if not keeps then redis.call('HSET', hash, 'left', left, 'at', string.format('%.17g', now)) end
end
redis.call('PEXPIRE', hash, ${keepMs})
return 1
`);

/**
 * Records that a replica is alive. Scores further away than a replica can set were set before the clock was set back:
 * without their removal, a replica that is gone would count as alive until then.
 *
 * KEYS: replicas. ARGV: replica, milliseconds until it counts as dead, the name it had before or empty.
 * Returns whether the replica still counted as alive, and how many replicas do.
 */
export const heartbeatScript = script(`${clock}
local now = time('')
local until_then = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0)
if ARGV[3] ~= '' then redis.call('ZREM', KEYS[1], ARGV[3]) end
local latest = now + 2 * ARGV[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.17g', latest), '+inf')
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
return {until_then > now and until_then <= latest and 1 or 0, redis.call('ZCARD', KEYS[1])}
`);

/** Removes a replica that ends. KEYS: replicas. ARGV: replica. */
export const leaveScript = script("return redis.call('ZREM', KEYS[1], ARGV[1])");

/**
 * Counts a failed authentication of a network, and blocks the network on all replicas when there were too many.
 *
 * KEYS: the network's failures, the blocked networks by the end of each block.
 * ARGV: network, how many are tolerated, the window and the block in milliseconds, channel.
 */
export const failureScript = script(`${clock}
local now, tolerated, window = time(''), tonumber(ARGV[2]), tonumber(ARGV[3])
local count = redis.call('RPUSH', KEYS[1], string.format('%.0f', now))
if count > tolerated + 1 then redis.call('LPOP', KEYS[1]) end
redis.call('PEXPIRE', KEYS[1], window)
if count > tolerated and tonumber(redis.call('LINDEX', KEYS[1], 0)) > now - window then
  redis.call('DEL', KEYS[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
  redis.call('ZREMRANGEBYSCORE', KEYS[2], string.format('(%.17g', now + ARGV[4]), '+inf')
  redis.call('ZADD', KEYS[2], string.format('%.17g', now + ARGV[4]), ARGV[1])
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
  redis.pcall('PUBLISH', ARGV[5], ARGV[4] .. ' ' .. ARGV[1])
end
return count
`);

/**
 * The blocked networks, for a replica that has just connected, in the format of the channel's messages.
 *
 * KEYS: the blocked networks. ARGV: how many at most.
 */
export const blockedScript = script(`${clock}
local now = time('')
local found = redis.call('ZRANGEBYSCORE', KEYS[1], string.format('(%.17g', now), '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[1])
local messages = {}
for i = 1, #found, 2 do messages[#messages + 1] = string.format('%.0f ', math.ceil(found[i + 1] - now)) .. found[i] end
return messages
`);

/**
 * Adds a replica's report on pools, and returns the reports of the others that it has not seen. Reports with prompts are kept for
 * longer than those with nothing but work, so that a replica that starts knows what engines have in their caches.
 *
 * KEYS: reports with prompts, reports without. ARGV: replica, a report or nothing, whether it has prompts (\`1\` or \`0\`), the last
 * report that was seen of each key or nothing, how many to return of each key.
 * Returns for each key: the last report that was looked at, whether that is all, and the replica and text of each report.
 */
export const poolScript = script(`
local kept = {${poolReportsKept.withPrompts}, ${poolReportsKept.workAlone}}
if ARGV[2] ~= '' then
  local at = ARGV[3] == '1' and 1 or 2
  redis.call('XADD', KEYS[at], 'MAXLEN', '~', kept[at], '*', 'r', ARGV[1], 't', ARGV[2])
  redis.call('PEXPIRE', KEYS[at], ${poolReportsKept.silentMs})
end
local found = {}
for at = 1, 2 do
  local last, count = ARGV[3 + at], tonumber(ARGV[6])
  if last == '' then
    local t = redis.call('TIME')
    last = at == 1 and '0' or tostring(t[1] - 1) .. string.format('%03d', math.floor(t[2] / 1000))
  end
  local entries = redis.call('XRANGE', KEYS[at], '(' .. last, '+', 'COUNT', count)
  local others = {}
  for _, entry in ipairs(entries) do
    last = entry[1]
    if entry[2][2] ~= ARGV[1] then
      others[#others + 1] = entry[2][2]
      others[#others + 1] = entry[2][4]
    end
  end
  found[at] = {last, #entries < count and 1 or 0, others}
end
return found
`);

/**
 * Replaces a replica's report on the demand for Backends, and returns those of the others. Deletes the reports of dead replicas.
 *
 * KEYS: the reports by replica. ARGV: replica, report.
 */
export const demandScript = script(`${clock}
local now = time('')
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f ', now) .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], ${demandFreshMs})
local fields, others = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #fields, 2 do
  local at, report = string.match(fields[i + 1], '^(%d+) (.*)$')
  if not at or math.abs(now - at) >= ${demandFreshMs} then redis.call('HDEL', KEYS[1], fields[i])
  elseif fields[i] ~= ARGV[1] then others[#others + 1] = report end
end
return others
`);

/**
 * Adds a replica's blocks of keys, the later one of each key, and returns all of them. They expire when no replica has any.
 *
 * KEYS: the blocks by key. ARGV: blocks (\`KEY STATUS MILLISECONDS SIGNATURE\`).
 */
export const keyBlocksScript = script(`
for _, text in ipairs(ARGV) do
  local id, at = string.match(text, '^(%S+) %S+ (%d+) ')
  local known = redis.call('HGET', KEYS[1], id)
  if not known or tonumber(string.match(known, '^%S+ %S+ (%d+) ')) < tonumber(at) then
    redis.call('HSET', KEYS[1], id, text)
  end
end
if #ARGV > 0 then redis.call('PEXPIRE', KEYS[1], 120000) end
return redis.call('HVALS', KEYS[1])
`);

export const scripts: readonly Script[] = [
  ...[admitScript, reserveScript, reportScript, heartbeatScript, leaveScript, failureScript, blockedScript, poolScript],
  ...[demandScript, keyBlocksScript],
];
