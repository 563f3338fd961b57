import type { Condition } from './resources/status.ts';

/** Something about an object that a person should notice. */
export interface Notable {
  readonly severity: 'Normal' | 'Warning';
  /** One word for programs. */
  readonly reason: string;
  /** What was done that it came of. */
  readonly action: string;
  readonly note: string;
}

interface Change {
  readonly from: Condition | undefined;
  readonly to: Condition;
}

type Told = Pick<Notable, 'severity' | 'reason'>;

const warning = (reason: string): Told => ({ severity: 'Warning', reason });
const normal = (reason: string): Told => ({ severity: 'Normal', reason });

/** Whether it came to hold, or ceased to; the first word on it counts only where it is a fault. */
const turned = ({ from, to }: Change): 'on' | 'off' | 'same' => {
  if (from?.status === to.status) return 'same';
  if (to.status === 'False') return 'off';
  return to.status === 'True' && from?.status === 'False' ? 'on' : 'same';
};

/** By the type of the condition: what its change means to a person. */
const tellers: Readonly<Record<string, (change: Change) => Told | undefined>> = {
  Accepted: (change) => {
    const turn = turned(change);
    const isNews = turn === 'off' || (change.to.status === 'False' && change.from?.message !== change.to.message);
    if (isNews) return warning(change.to.reason === 'Invalid' ? 'Refused' : change.to.reason);
    return turn === 'on' ? normal('Accepted') : undefined;
  },
  Servable: (change) => {
    const turn = turned(change);
    // That it left was its end, and that nothing serves what was never accepted goes without saying.
    if (turn === 'off' && !['Left', 'NotAccepted'].includes(change.to.reason)) return warning('NotServable');
    return turn === 'on' ? normal('Servable') : undefined;
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
    // A lag of moments is how every change begins: who waits longer is told of elsewhere.
    to.reason === 'EnvoyRefused' && from?.reason !== to.reason ? warning('NotProgrammed') : undefined,
  Healthy: (change) => {
    const turn = turned(change);
    if (turn === 'off') return warning('Unhealthy');
    return turn === 'on' ? normal('Healthy') : undefined;
  },
};

/** What in the change of an object's conditions a person should notice. */
export function notableOf(before: readonly Condition[], after: readonly Condition[]): readonly Notable[] {
  const known = new Map(before.map((condition) => [condition.type, condition]));
  return after.flatMap((to) => {
    const told = tellers[to.type]?.({ from: known.get(to.type), to });
    return told === undefined ? [] : [{ ...told, action: 'Judge', note: to.message }];
  });
}

/** A Backend that some Envoy has been without for longer than a change takes. */
export function laggardOf(after: readonly Condition[], now: number, patienceMs: number): Notable | undefined {
  const lagging = after.find(({ type, reason }) => type === 'Programmed' && reason === 'Lagging');
  if (lagging === undefined || now - Date.parse(lagging.lastTransitionTime) < patienceMs) return undefined;
  return { ...warning('NotProgrammed'), action: 'Judge', note: lagging.message };
}
