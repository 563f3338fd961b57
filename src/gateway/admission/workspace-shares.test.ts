import { describe, expect, it } from 'vitest';
import { Failure } from '../../core/failure.ts';
import { checkLoad, overloadLimits } from './overload.ts';
import { createWorkspaceShares } from './workspace-shares.ts';

const limits = { ...overloadLimits(Infinity), openRequests: { from: 90, to: 100 } };
const idle = { eventLoopDelayMs: 0, ownDelayMs: 0, memoryShare: 0, filesShare: 0, medianWaitMs: 0, queuedForMs: 0 };

describe('a workspace whose own limit is higher than that of the service', () => {
  /** Sends 200 requests of one workspace that stay open, then one of another. */
  function fill(enter: ReturnType<typeof createWorkspaceShares>['enter']) {
    let open = 0;
    const ask = (workspace: string): string => {
      open += 1;
      try {
        checkLoad({ openRequests: open }, { limits, random: () => 0.999, current: () => idle });
        enter(workspace);
        return 'admitted';
      } catch (error) {
        open -= 1;
        return error instanceof Failure ? String(error.limit) : 'admitted';
      }
    };
    const fates = Array.from({ length: 200 }, () => ask('greedy'));
    return { open, last: fates.at(-1), other: ask('other') };
  }

  it('gets no more than four fifths of the open requests, so that others are served; without this rule, it takes all', () => {
    expect(fill(createWorkspaceShares({ limits }).enter)).toEqual({
      ...{ open: 80, last: 'open-requests', other: 'admitted' },
    });
    expect(fill(() => () => undefined)).toMatchObject({ open: 99, other: 'open-requests' });
  });

  it('is served again when some of its requests end, or when others have as many', () => {
    const { enter } = createWorkspaceShares({ limits });
    const leave = Array.from({ length: 80 }, () => enter('one'));
    expect(() => enter('one')).toThrow('overloaded');
    leave[0]?.();
    expect(() => enter('one')).not.toThrow();
    for (const end of leave.slice(1, 41)) end();
    for (let other = 0; other < 40; other += 1) enter(`workspace ${other}`);
    expect(() => enter('one')).not.toThrow();
  });
});
