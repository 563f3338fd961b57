import type { ObjectEvent } from '../../core/catalog.ts';
import type { Condition } from './resources/status.ts';

interface Change {
  readonly from: Condition | undefined;
  readonly to: Condition;
}

type EventKind = Pick<ObjectEvent, 'severity' | 'reason'>;

const warning = (reason: string): EventKind => ({ severity: 'Warning', reason });
const normal = (reason: string): EventKind => ({ severity: 'Normal', reason });

/**
 * `on`: the condition was False and is True now. `off`: it is False now and was not False before. `same`: all other
 * changes, and a first status that is not False.
 */
const turned = ({ from, to }: Change): 'on' | 'off' | 'same' => {
  if (from?.status === to.status) return 'same';
  if (to.status === 'False') return 'off';
  return to.status === 'True' && from?.status === 'False' ? 'on' : 'same';
};

/** The event for a change of a condition, by the condition's type. Some changes have none. */
const eventKinds: Readonly<Record<string, (change: Change) => EventKind | undefined>> = {
  Accepted: (change) => {
    const turn = turned(change);
    const isNews = turn === 'off' || (change.to.status === 'False' && change.from?.message !== change.to.message);
    if (isNews) return warning(change.to.reason === 'Invalid' ? 'Refused' : change.to.reason);
    return turn === 'on' ? normal('Accepted') : undefined;
  },
  Servable: (change) => {
    const turn = turned(change);
    // A Model that left, or that was never accepted, has an event of its own for that.
    if (turn === 'off' && !['Left', 'NotAccepted'].includes(change.to.reason)) return warning('NotServable');
    return turn === 'on' ? normal('Servable') : undefined;
  },
  SameVectors: (change) => {
    const turn = turned(change);
    const isNews = turn === 'off' || (change.to.status === 'False' && change.from?.reason !== change.to.reason);
    if (isNews) return warning(change.to.reason);
    return turn === 'on' ? normal('SameVectors') : undefined;
  },
  Priced: () => undefined,
  Listed: ({ from, to }) => {
    if (to.status === 'True' && from?.status !== 'True') return normal('Listed');
    return to.status === 'False' && from?.status === 'True' && to.reason !== 'NotInCatalog'
      ? warning('Unlisted')
      : undefined;
  },
  Retiring: ({ from, to }) => {
    if (to.reason === from?.reason) return undefined;
    switch (to.reason) {
      case 'Staying':
        return from?.status === 'True' ? normal('RetirementCancelled') : undefined;
      case 'NoticeWaived':
        return warning('NoticeWaived');
      case 'Left':
        return normal('Left');
      default:
        return normal('RetirementAnnounced');
    }
  },
  Programmed: ({ from, to }) =>
    // Every change takes some seconds to reach Envoy. `lagEvent` reports a change that takes longer.
    to.reason === 'EnvoyRefused' && from?.reason !== to.reason ? warning('NotProgrammed') : undefined,
  Healthy: (change) => {
    const turn = turned(change);
    if (turn === 'off') return warning('Unhealthy');
    return turn === 'on' ? normal('Healthy') : undefined;
  },
};

/** The events of a change of an object's conditions. */
export function statusEvents(before: readonly Condition[], after: readonly Condition[]): readonly ObjectEvent[] {
  const known = new Map(before.map((condition) => [condition.type, condition]));
  return after.flatMap((to) => {
    const kind = eventKinds[to.type]?.({ from: known.get(to.type), to });
    return kind === undefined ? [] : [{ ...kind, action: 'Judge', note: to.message }];
  });
}

/** The event of a Backend that some Envoy has lacked for longer than `lagMs`. */
export function lagEvent(after: readonly Condition[], now: number, lagMs: number): ObjectEvent | undefined {
  const lagging = after.find(({ type, reason }) => type === 'Programmed' && reason === 'Lagging');
  if (lagging === undefined || now - Date.parse(lagging.lastTransitionTime) < lagMs) return undefined;
  return { ...warning('NotProgrammed'), action: 'Judge', note: lagging.message };
}
