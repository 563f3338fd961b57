import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sampleEnd } from '../../../test/support/sample-end.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { RequestEnd } from '../core/request-end.ts';
import { trafficGroups } from '../core/traffic.ts';
import { createRecentTraffic } from './recent-traffic.ts';

type Running = Parameters<typeof createRecentTraffic>[1];

function start(running: ReturnType<Running> = []) {
  const clock = createFakeClock();
  const traffic = createRecentTraffic(clock, () => running);
  const end = (changes: Partial<RequestEnd>, times = 1): void => {
    for (let count = 0; count < times; count += 1) traffic.ended(sampleEnd(changes));
  };
  return { ...traffic, clock, end };
}

const caller = { keyId: 'key_a', workspaceId: 'ws_a', modelId: 'org/m', address: '192.0.2.1' };

describe('the requests of the last minute', () => {
  it('are grouped by key, workspace, model, address and outcome', () => {
    const { end, read } = start([{ ...caller, keyId: 'key_b' }]);
    const usage = { promptTokens: 10, completionTokens: 5 };
    const outcome = sampleOutcome({ workspaceId: 'ws_a', keyId: 'key_a', cost: 7n, usage });
    end({ ...caller, kind: 'completed', outcome, wouldRefuse: ['rate', 'tokens'] });
    end({ ...caller, kind: 'refused', code: 'rate_limited' }, 2);
    end({ ...caller, kind: 'failed', code: 'upstream_error' as never, wouldRefuse: ['tokens'] });
    end({ kind: 'refused', code: 'unauthenticated', address: '192.0.2.9' });
    const counts = { requests: 4, failed: 1, refused: { rate_limited: 2 }, would_refuse: { rate: 1, tokens: 2 } };
    const row = { ...counts, prompt_tokens: 10, completion_tokens: 5 };
    expect(read('key')).toEqual([
      { name: 'key_a', ...row, cost: '0.000000000007', in_flight: 0 },
      expect.objectContaining({ name: null, requests: 1, refused: { unauthenticated: 1 } }),
      expect.objectContaining({ name: 'key_b', requests: 0, in_flight: 1 }),
    ]);
    expect(read('workspace')[0]).toMatchObject({ name: 'ws_a', ...row, in_flight: 1 });
    expect(read('model')[0]).toMatchObject({ name: 'org/m', ...row });
    expect(read('address').map(({ name, requests }) => [name, requests])).toEqual([
      ['192.0.2.1', 4],
      ['192.0.2.9', 1],
    ]);
    expect(read('outcome').map(({ name }) => name)).toEqual([
      'refused rate_limited',
      'completed',
      'failed upstream_error',
      'refused unauthenticated',
    ]);
  });

  it('are forgotten after a minute, second by second', () => {
    const { end, read, clock } = start();
    end(caller);
    clock.advance(30_000);
    end(caller, 2);
    expect(read('key')).toMatchObject([{ requests: 3 }]);
    clock.advance(30_000);
    expect(read('key')).toMatchObject([{ requests: 2 }]);
    clock.advance(30_000);
    expect(read('key')).toEqual([]);
  });

  it('stay few however many names there are, and one that floods is first', () => {
    const { end, read } = start();
    for (let number = 0; number < 20_000; number += 1) {
      end({ address: `192.0.2.${number}` });
      if (number % 10 === 0) end({ address: '198.51.100.1' });
    }
    const rows = read('address');
    expect(rows.length).toBeLessThanOrEqual(101);
    const named = rows.filter(({ name }) => name !== null);
    expect(named[0]?.name).toBe('198.51.100.1');
    expect(named[0]?.requests).toBeGreaterThan(1_900);
    expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBeGreaterThan(21_900);
    for (const group of trafficGroups) expect(read(group).length).toBeLessThanOrEqual(101);
  });
});
