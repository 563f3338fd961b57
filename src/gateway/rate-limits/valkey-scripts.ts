import { admitScript, reportScript, reserveScript, takeTokensScript } from './limit-scripts.ts';
import { clock, script, type Script } from './valkey-script.ts';

/** How many reports on pools are kept, about, and for how long after the last one. */
const poolReportsKept = { withPrompts: 2048, workAlone: 256, silentMs: 900_000 } as const;

/** A replica's report on the demand counts for so long. */
export const demandFreshMs = 3_000;

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
 * KEYS: reports with prompts, reports without. ARGV: replica, a report or nothing, whether it has prompts (`1` or `0`), the last
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
 * KEYS: the blocks by key. ARGV: blocks (`KEY STATUS MILLISECONDS SIGNATURE`).
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
  ...[takeTokensScript, demandScript, keyBlocksScript],
];
