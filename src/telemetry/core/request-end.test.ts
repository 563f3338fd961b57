import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { Failure } from '../../core/failure.ts';
import type { Ranking } from '../../gateway/core/plan.ts';
import { endOf } from './request-end.ts';
import { recordRequest } from './request-record.ts';
import type { AttemptReason, RequestProgress } from '../../gateway/core/telemetry.ts';

/** A step, a call of an engine, or milliseconds that pass. */
type Happening = RequestProgress | AttemptReason | number;

const ranking: Ranking = { first: 'chance', routes: [], leftOut: [] };
const read: RequestProgress = { kind: 'read', modelId: 'test/m', stream: true };
const ranked: RequestProgress = { kind: 'ranked', ranking };
const settled: RequestProgress = { kind: 'settled', outcome: sampleOutcome({ kind: 'completed' }) };
const interrupted: RequestProgress = { kind: 'settled', outcome: sampleOutcome({ kind: 'interrupted' }) };
const recorded: RequestProgress = { kind: 'recorded' };
const failedWith = (failure: Failure): RequestProgress => ({ kind: 'ended', failure });
const ended: RequestProgress = { kind: 'ended', failure: undefined };

/** The end of a request to which this happened. */
function endAfter(...happenings: readonly Happening[]) {
  const clock = createFakeClock();
  const { record, progress, attempt } = recordRequest(
    {
      ...{ requestId: 'r', correlationId: '', surface: 'chat', trace: undefined },
      ...{ startedAt: clock.now(), begun: clock.elapsed() },
    },
    clock,
  );
  for (const happening of happenings) {
    if (typeof happening === 'number') clock.advance(happening);
    else if (typeof happening === 'object') progress(happening);
    else {
      const at = { routeId: 'm@a', backend: 'a', engine: 'vllm', upstreamModel: 'm', endpoint: 'e' } as const;
      attempt({ ...at, reason: happening, step: 'first', picked: undefined, spanId: undefined });
    }
  }
  return endOf(record);
}

const full = new Failure('no_capacity', '');
const internal = new Failure('internal', '', { cause: new TypeError('CANARY') });

describe('the end of a request', () => {
  it.each<readonly [when: string, happenings: readonly Happening[], end: object]>([
    ['is its outcome, once its row is durable', ['first', settled, recorded, ended], { kind: 'completed' }],
    [
      'is a failure while its row is not durable',
      ['first', settled, failedWith(internal)],
      { kind: 'failed', outcome: undefined, code: 'internal', failure: { causeName: 'TypeError' } },
    ],
    ['is a refusal where no engine was called', [read, failedWith(full)], { kind: 'refused', code: 'no_capacity' }],
    ['is a failure where one was called', ['first', failedWith(full)], { kind: 'failed', code: 'no_capacity' }],
    ['is a cancellation without outcome and failure', [ended], { kind: 'cancelled', code: undefined }],
    [
      'has the code of an answer that broke off',
      ['first', interrupted, recorded, ended],
      { code: 'stream_interrupted' },
    ],
    [
      'names the workspace and the key of its caller',
      [{ kind: 'authenticated', workspaceId: 'ws_1', keyId: 'key_1' }, failedWith(full)],
      { workspaceId: 'ws_1', keyId: 'key_1' },
    ],
    ['names no caller before its key is known', [failedWith(full)], { workspaceId: undefined, keyId: undefined }],
    ['names no model before routes were compared', [read, failedWith(full)], { modelId: undefined }],
    ['names the model whose routes were ranked', [read, ranked, failedWith(full)], { modelId: 'test/m' }],
    ['names the model that has no route', [read, { kind: 'unavailable' }, failedWith(full)], { modelId: 'test/m' }],
    [
      'counts failovers before and after the answer broke off, and no hedges',
      ['first', 'failover', 'hedge', 'resume', 'failover', ended],
      { failovers: { beforeOutput: 1, midStream: 2 } },
    ],
    [
      'has the added time without the wait for the body and without the engines',
      [2, { kind: 'arrived', waitedMs: 2 }, 3, 'first', 90, { kind: 'answered' }, 1, settled, 4, recorded, 1, ended],
      { added: { beforeMs: 3, afterMs: 6 }, durationMs: 101 },
    ],
    [
      'has no added time unless it completed',
      ['first', { kind: 'answered' }, interrupted, recorded, ended],
      { added: undefined },
    ],
  ])('%s', (_, happenings, end) => {
    expect(endAfter(...happenings)).toMatchObject(end);
  });

  it('keeps no text of a failure', () => {
    expect(JSON.stringify(endAfter(failedWith(internal)))).not.toContain('CANARY');
  });
});
