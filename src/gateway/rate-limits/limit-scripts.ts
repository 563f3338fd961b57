import { maxOwedTokensMs } from '../../core/token-bucket.ts';
import { clock, script } from './valkey-script.ts';

/**
 * A hash of a workspace, a key or a tag with a budget has the requests under way. Each replica has its number of requests in `n:REPLICA`, and their
 * reserved amount in `a:REPLICA`. The last settlement was `at` this time, and this much was `left` to spend. The hash expires
 * after the longest silence that a request may have.
 *
 * `+n` and `+a` are the sums over all replicas, `+at` the time at which they were last added up. Each change is made in the
 * replica's fields and in the sums, so that a decision takes no longer with a thousand replicas than with one. There are no sums
 * while nothing is under way.
 */
const keepMs = 86_400_000;

/**
 * How long `left` counts after a settlement, milliseconds. Replicas may read the accounts so much later (docs/how-to/accounts.md: within
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

/** The requests and amounts that the living replicas have in progress. Deletes the fields of dead replicas when it computes the sums. */
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
 * The buckets of limits in tokens a minute, as `minuteBucket` of core/token-bucket.ts has them: a bucket is the moment at which it is
 * full.
 */
const tokenBuckets = `
local function tokens_full_in(bucket, per_minute, now)
  local longest = per_minute * 1000 / (per_minute / 60) + ${maxOwedTokensMs}
  return math.min(longest, math.max(0, tonumber(redis.call('GET', bucket) or 0) - now)), longest
end
local function has_tokens(full_in, per_minute) return per_minute - full_in * (per_minute / 60) / 1000 + 1e-4 >= 1 end
local function take_tokens(bucket, per_minute, now, tokens)
  local full_in, longest = tokens_full_in(bucket, per_minute, now)
  full_in = math.min(longest, math.max(0, full_in + tokens * 1000 / (per_minute / 60)))
  redis.call('SET', bucket, string.format('%.17g', now + full_in), 'PX', math.ceil(full_in) + 1)
end
local function token_limit(bucket)
  local kind = string.match(bucket, 'tok:(%a+):')
  return kind == 'key' and 'tokens' or kind == 'ws' and 'workspace-tokens' or 'tag-tokens'
end
`;

/**
 * Whether a limit refuses. One that is not enforced is noted instead. `given`: those that are not enforced, between commas.
 * Results are the limit or what was done, what would have refused, and times in milliseconds.
 */
const enforcement = `
local would = {}
local function refuses(limit, given)
  if not string.find(given, ',' .. limit .. ',', 1, true) then return true end
  would[#would + 1] = limit
  return false
end
`;

/**
 * Admits one request. If a limit refuses it, returns the limit and takes nothing. The same decision, in the same order, as
 * `refusedBy` of core/limits.ts. Amounts are floats here: exact up to 9,000 USD, and to a billionth of a dollar beyond.
 *
 * KEYS: bucket of the key, workspace, replicas, each budget (the key's, then those of tags), and the bucket of each limit in tokens.
 * ARGV: replica, rate, burst, most in flight, balance or empty, time or empty, number of limits in tokens, limits that are not
 * enforced, the rest of each budget or empty, and the tokens a minute of each limit in tokens.
 * Returns the time until the bucket is full, and that of each limit in tokens.
 */
export const admitScript = script(`${clock}${underWay}${tokenBuckets}${enforcement}
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
local last_budget = #KEYS - ARGV[7]
local function answer(result)
  local told = {result, table.concat(would, ','), string.format('%.17g', full_in)}
  for i = last_budget + 1, #KEYS do
    told[#told + 1] = string.format('%.17g', (tokens_full_in(KEYS[i], tonumber(ARGV[i + 5]), now)))
  end
  return told
end

local has_token = burst - full_in * rate / 1000 + 1e-4 >= 1
if not has_token and refuses('rate', ARGV[8]) then return answer('rate') end
local places, reserved, left = under_way(KEYS[2], replica, KEYS[3], now)
if places >= most and refuses('concurrency', ARGV[8]) then return answer('concurrency') end
for i = last_budget + 1, #KEYS do
  local per_minute, limit = tonumber(ARGV[i + 5]), token_limit(KEYS[i])
  if not has_tokens(tokens_full_in(KEYS[i], per_minute, now), per_minute) and refuses(limit, ARGV[8]) then
    return answer(limit)
  end
end
if ARGV[5] ~= '' and math.min(tonumber(ARGV[5]), left) <= reserved then return answer('balance') end
for i = 4, last_budget do
  if ARGV[i + 5] ~= '' then
    local _, others, rest = under_way(KEYS[i], replica, KEYS[3], now)
    local limit = i == 4 and 'budget' or 'tag-budget'
    if math.min(tonumber(ARGV[i + 5]), rest) <= others and refuses(limit, ARGV[8]) then return answer(limit) end
  end
end

if has_token then
  full_in = full_in + 1000 / rate
  keep(full_in)
end
redis.call('HINCRBY', KEYS[2], 'n:' .. replica, 1)
if redis.call('HEXISTS', KEYS[2], '+n') == 1 then redis.call('HINCRBY', KEYS[2], '+n', 1) end
redis.call('PEXPIRE', KEYS[2], ${keepMs})
return answer('admitted')
`);

/**
 * Reserves the expected cost and the expected tokens of a request that is about to be dispatched. If a fund or a limit in tokens is
 * exhausted, returns it and reserves nothing. The same decision as `exceededTokens` and `shortOf` of core/limits.ts, over all replicas.
 *
 * KEYS: replicas, workspace, each budget (the key's, then those of tags), and the bucket of each limit in tokens.
 * ARGV: replica, number of limits in tokens, tokens, limits that are not enforced, then for the workspace and each budget: what is left or empty, the amount
 * reserved for its other requests on this replica, and the same with this request; and the tokens a minute of each limit in tokens.
 * Returns whether each limit in tokens counts the request (`1`), and the time until its bucket is full. One that would have refused
 * the request does not.
 */
export const reserveScript = script(`${clock}${change}${underWay}${tokenBuckets}${enforcement}
local replica, now, last_fund = ARGV[1], time(''), #KEYS - ARGV[2]
local counts = {}
local function per_minute(i) return tonumber(ARGV[i + 1 + 2 * last_fund]) end
local function answer(result)
  local told = {result, table.concat(would, ',')}
  for i = last_fund + 1, #KEYS do
    told[#told + 1] = counts[i] and '1' or '0'
    told[#told + 1] = string.format('%.17g', (tokens_full_in(KEYS[i], per_minute(i), now)))
  end
  return told
end
for i = last_fund + 1, #KEYS do
  local limit = token_limit(KEYS[i])
  counts[i] = has_tokens(tokens_full_in(KEYS[i], per_minute(i), now), per_minute(i))
  if not counts[i] and refuses(limit, ARGV[4]) then return answer(limit) end
end
local function short(hash, others, funds)
  change(hash, replica, 0, others)
  redis.call('PEXPIRE', hash, ${keepMs})
  local _, reserved, left = under_way(hash, replica, KEYS[1], now)
  return math.min(tonumber(funds), left) <= reserved
end

local names = {nil, 'balance', 'budget'}
for i = 2, last_fund do
  local funds, limit = ARGV[3 * i - 1], names[i] or 'tag-budget'
  if funds ~= '' and short(KEYS[i], ARGV[3 * i], funds) and refuses(limit, ARGV[4]) then return answer(limit) end
end
for i = 2, last_fund do
  if ARGV[3 * i - 1] ~= '' then change(KEYS[i], replica, 0, ARGV[3 * i + 1]) end
end
for i = last_fund + 1, #KEYS do
  if counts[i] then take_tokens(KEYS[i], per_minute(i), now, ARGV[3]) end
end
return answer('reserved')
`);

/** Takes tokens of a limit, or gives some back. KEYS: its bucket. ARGV: tokens a minute, tokens. */
export const takeTokensScript = script(`${clock}${tokenBuckets}
take_tokens(KEYS[1], tonumber(ARGV[1]), time(''), ARGV[2])
return 1
`);

/**
 * Stores a replica's report of the requests and amounts that it has under way for a workspace or a budget.
 *
 * KEYS: the hash. ARGV: replica, change of the number of requests, reserved amount, rest of the funds or empty, `1` under a new
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
