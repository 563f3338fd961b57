import { describe, expect, it } from 'vitest';
import { endpointOf } from '../../../../test/support/route-of.ts';
import { type ChooseOptions, chooseEndpoint } from './choose-endpoint.ts';
import type { EndpointHealth, EndpointStatus, LastResort } from './endpoint-health.ts';

const well: EndpointStatus = {
  ...{ state: 'available', success: 1, inFlight: 0, capacity: undefined, firstOutput: undefined, tokenMs: undefined },
};

/** Endpoints with these statuses, numbered from one. */
type Given = Partial<EndpointStatus> & { readonly resort?: LastResort };

const endpointsWith = (...statuses: readonly Given[]): readonly EndpointHealth[] =>
  statuses.map(
    ({ resort, ...status }, index) =>
      ({
        endpoint: endpointOf('a', index + 1),
        status: () => ({ ...well, ...status }),
        lastResort: () => resort,
      }) as unknown as EndpointHealth,
  );

/** The number of the chosen endpoint. */
function chosen(statuses: readonly Given[], options: Partial<ChooseOptions> = {}): number | undefined {
  const endpoints = endpointsWith(...statuses);
  const all = { now: 0, stream: true, affinity: undefined, mayProbe: true, turn: 0, isLastResort: false, ...options };
  const choice = chooseEndpoint(endpoints, all);
  return choice === undefined ? undefined : endpoints.indexOf(choice.health) + 1;
}

const [out, probe, failing] = [{ state: 'unavailable' }, { state: 'probe' }, { state: 'last-resort' }] as const;
const coolFor = (coolMs: number): Given => ({ ...out, resort: { coolMs, keepsWaiting: false } });
const waiting: Given = { ...out, resort: { coolMs: 0, keepsWaiting: true } };
const isLastResort = true;

describe('an endpoint by its state', () => {
  it.each<readonly [string, readonly Given[], Partial<ChooseOptions>, number | undefined]>([
    ['probes one that may be well again', [{}, probe], {}, 2],
    ['does not probe with a request that has failed already', [{}, probe], { mayProbe: false }, 1],
    ['probes with any request where no other endpoint is well', [out, probe], { mayProbe: false }, 2],
    ['takes one that fails at once where none is well', [out, failing, failing], { turn: 0.9 }, 3],
    ['takes none where all are full, cooling off, or keep requests waiting', [out, out], {}, undefined],
    ['takes none that cools off, unless the request would fail', [coolFor(20), coolFor(10)], {}, undefined],
    ['takes the one that cools off soonest as a last resort', [coolFor(20), coolFor(10)], { isLastResort }, 2],
    ['takes one that fails at once before one that cools off', [coolFor(10), failing], { isLastResort }, 2],
    ['takes none that is full as a last resort', [out, out], { isLastResort }, undefined],
    ['takes none that kept callers waiting, unless the request would fail', [waiting, waiting], {}, undefined],
    ['takes one that cools off before one that kept callers waiting', [waiting, coolFor(10)], { isLastResort }, 2],
    ['takes one that kept callers waiting if there is no other', [out, waiting], { isLastResort }, 2],
    ['takes none where there is none', [], {}, undefined],
  ])('%s', (_, statuses, options, expected) => {
    expect(chosen(statuses, options)).toBe(expected);
  });
});

describe('an endpoint that is well', () => {
  it('is chosen by chance without an affinity', () => {
    expect([0, 0.4, 0.6, 0.999].map((turn) => chosen([{}, {}], { turn }))).toEqual([1, 1, 2, 2]);
  });

  it('is the same one for the same affinity, whatever chance says', () => {
    const byTurn = [0, 0.3, 0.6, 0.9].map((turn) => chosen([{}, {}, {}, {}], { affinity: 'a prompt', turn }));
    expect(new Set(byTurn).size).toBe(1);
  });

  it('keeps its prompts until it has half more than its share under way, and eight attempts', () => {
    const options = { affinity: 'a prompt' };
    const own = chosen([{}, {}], options) ?? 0;
    const busy = (inFlight: number) => [1, 2].map((number) => (number === own ? { inFlight } : {}));
    expect(chosen(busy(7), options)).toBe(own);
    expect(chosen(busy(8), options)).not.toBe(own);
  });

  it('keeps its prompts while it is worth a tenth of the best', () => {
    const options = { affinity: 'a prompt' };
    const own = chosen([{}, {}], options) ?? 0;
    const weak = (success: number) => [1, 2].map((number) => (number === own ? { success } : {}));
    expect(chosen(weak(0.9), options)).toBe(own);
    expect(chosen(weak(0.01), options)).not.toBe(own);
  });
});
