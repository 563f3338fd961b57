import { createHash } from 'node:crypto';

/** A Lua script, which Valkey runs atomically. All of its keys have one hash tag, so that a cluster has them in one place. */
export interface Script {
  readonly text: string;
  /** Name under which the server remembers it. */
  readonly sha1: string;
}

export const script = (text: string): Script => ({ text, sha1: createHash('sha1').update(text).digest('hex') });

/**
 * Milliseconds by the server's clock, the only clock that all replicas share. They are counted from 2023, so that a float is exact
 * to a hundred-thousandth of a millisecond. A test may give the time instead.
 */
export const clock = `
local function time(given)
  if given ~= '' then return tonumber(given) end
  local t = redis.call('TIME')
  return (t[1] - 1700000000) * 1000 + t[2] / 1000
end
`;
