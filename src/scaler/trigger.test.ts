import { describe, expect, it } from 'vitest';
import { sampleDemand } from '../../test/support/sample-demand.ts';
import { readTrigger, stateOf } from './trigger.ts';

describe('the metadata of a trigger', () => {
  it('names the Backend, beside the fields that KEDA reads itself', () => {
    const ofKeda = { scalerAddress: 'weir-scaler:9004', enableTLS: 'true', caCertFromEnv: 'CA', unsafeSsl: 'false' };
    expect(readTrigger({ ...ofKeda, backend: 'vllm-a' })).toEqual({ said: { backend: 'vllm-a', targetPercent: 70 } });
    expect(readTrigger({ backend: 'vllm-a', targetPercent: '100' })).toEqual({
      said: { backend: 'vllm-a', targetPercent: 100 },
    });
  });

  it.each<readonly [Readonly<Record<string, string>>, string]>([
    [{}, 'metadata.backend: expected the name of a Backend'],
    [{ backend: '' }, 'metadata.backend: expected the name of a Backend, got ""'],
    [{ backend: 'vllm A' }, 'metadata.backend: expected the name of a Backend, got "vllm A"'],
    [{ backends: 'a' }, 'metadata.backends: there is no such field (Did you mean backend?)'],
    [
      { backend: 'a', targetPercents: '' },
      'metadata.targetPercents: there is no such field (Did you mean targetPercent?)',
    ],
    ...['0', '101', '0.7', '70%', ''].map((text): readonly [Readonly<Record<string, string>>, string] => [
      { backend: 'a', targetPercent: text },
      `metadata.targetPercent: expected a whole number from 1 to 100, in quotes, got "${text}"`,
    ]),
  ])('is refused by its field: %j', (metadata, message) => {
    expect(readTrigger(metadata)).toEqual({ unanswered: { kind: 'wrong', message } });
  });
});

describe('the state of a Backend', () => {
  const trigger = { backend: 'vllm-a', targetPercent: 70 };
  const stateFor = (...demands: readonly Parameters<typeof sampleDemand>[0][]) =>
    stateOf(trigger, { asked: demands.length, reports: demands.map((demand) => [sampleDemand(demand)]) });

  it('is the sum over the services', () => {
    expect(stateFor({ work_tokens: 10_000 }, { work_tokens: 5000 })).toMatchObject({ said: { needed: 1.5 } });
  });

  it('counts a service that did not answer like the others', () => {
    const report = [sampleDemand({ work_tokens: 10_000 })];
    expect(stateOf(trigger, { asked: 3, reports: [report, report] })).toMatchObject({ said: { needed: 3 } });
  });

  it.each([
    ['nothing has come', [{ quiet_ms: null }], false],
    ['a request has come a minute ago', [{ quiet_ms: 60_000 }], false],
    ['a request has come within a minute', [{ quiet_ms: 59_999 }], true],
    ['one service has a request under way', [{ quiet_ms: null }, { under_way: 1, quiet_ms: 0 }], true],
  ])('is active or not where %s', (_, demands, isActive) => {
    expect(stateFor(...demands)).toMatchObject({ said: { isActive } });
  });

  it('is an error where no service knows the Backend', () => {
    const report = [sampleDemand({ backend: 'vllm-b' })];
    expect(stateOf(trigger, { asked: 2, reports: [report, []] })).toMatchObject({
      unanswered: { kind: 'unknown', message: expect.stringMatching(/^metadata\.backend: .* no Backend "vllm-a"/) },
    });
  });
});
