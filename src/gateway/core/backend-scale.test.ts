import { describe, expect, it } from 'vitest';
import { sampleDemand } from '../../../test/support/sample-demand.ts';
import type { BackendDemand } from './backend-demand.ts';
import { type GatewayDemand, scaleOf } from './backend-scale.ts';

const gateway = (demands: readonly Partial<BackendDemand>[], more: Partial<GatewayDemand> = {}): GatewayDemand => {
  const count = demands.length;
  return { demands: demands.map(sampleDemand), replicas: count, reporting: count, isWhole: true, ...more };
};
const needed = (demand: GatewayDemand): unknown => {
  const scale = scaleOf('vllm-a', demand);
  return typeof scale === 'string' ? scale : [scale.needed_endpoints, scale.active];
};
const partial = { replicas: 3, isWhole: false };
const refusing = { endpoints: 0, refused_tokens: 1e6, quiet_ms: 5 };

describe('the number of endpoints for an autoscaler', () => {
  it.each([
    ['the sum over replicas', gateway([busy(5000), busy(10_000)]), [1.5, true]],
    ['zero before the first request', gateway([{}, {}]), [0, false]],
    ['above zero while a request is in flight that needs next to nothing', gateway([{ under_way: 1 }]), [0.01, true]],
    ['above zero for a minute after a request', gateway([{ quiet_ms: 59_999 }]), [0.01, true]],
    ['zero after that, whatever is left of the rate', gateway([{ work_tokens: 9, quiet_ms: 60_000 }]), [0, false]],
    ['above zero after a refused request, without endpoints', gateway([refusing, { endpoints: 0 }]), [0.5, true]],
    ['extrapolated to replicas that do not report', gateway([busy(5000)], partial), [1.5, true]],
    ['no more for refused requests then, without endpoints', gateway([refusing], partial), [0.5, true]],
    ['not zero, but unknown if some replicas do not report', gateway([{}, {}], partial), 'incomplete'],
    [
      'the sum as it is if a replica that ended still reports',
      gateway([busy(5000), busy(0)], { replicas: 1 }),
      [0.5, true],
    ],
  ] as const)('is %s', (_, demand, expected) => {
    expect(needed(demand)).toEqual(expected);
  });

  it('says by how many replicas it goes', () => {
    expect(scaleOf('vllm-a', gateway([busy(5000)], partial))).toEqual({
      ...{ backend: 'vllm-a', needed_endpoints: 1.5, active: true, replicas: 3, reporting_replicas: 1 },
    });
  });
});

function busy(tokens: number): Partial<BackendDemand> {
  return { work_tokens: tokens, quiet_ms: 0 };
}
