import type { SeenAttempt } from './check-attempts.ts';
import type { Call } from './caller.ts';
import { clusterEventNames, clusterEventOf, clusterStates, isClusterState } from './cluster/cluster-situations.ts';
import { fileOperations } from './disk.ts';
import type { WorldEvent } from './events.ts';

/** How often each kind of event met each open state, and each other thing that seldom happens occurred, by name. */
export type Situations = ReadonlyMap<string, number>;

const dayMs = 86_400_000;
const hourMs = 3_600_000;
/** So close to its end, an hour or a day is about to change. */
const closeMs = 2_000;
/** A catalog is on its way for so long. */
const onItsWayMs = 400;

/** The kinds of events, as situations name them. */
const eventKinds = [
  ...([
    'request',
    'kill',
    'dies',
    'restart',
    'power-cut',
    'pause',
    'clock-jump',
    'disk',
    'locked',
    'engine',
    'dns',
  ] as const),
  ...(['search', 'partition', 'valkey', 'credit', 'correction', 'key-status', 'workspace-status', 'budget'] as const),
  ...(['expiry', 'rotate', 'prices', 'retire', 'payer', 'issuer'] as const),
] as const;

/** What may be open when an event happens. */
const openStates = [
  ...(['a stream', 'several choices', 'a whole answer', 'a search', 'an upload', 'a hedge', 'a continuation'] as const),
  ...([
    'rows to settle',
    'a service down',
    'the power off',
    'a pause',
    'the disk failing',
    'the database away',
  ] as const),
  ...([
    'the database away for half an hour',
    'an engine down',
    'an endpoint gone',
    'the search provider failing',
  ] as const),
  ...(['a partition', 'Valkey failing', 'a key stopped', 'a catalog on its way', 'a backend retired'] as const),
  ...(['the issuer away'] as const),
  ...(['the end of an hour', 'the end of a day', 'the end of a week', 'the end of a month'] as const),
] as const;
type OpenState = (typeof openStates)[number];

/** What happens by itself, now and then. */
export const rareThings = [
  ...(['a batch of several rows', 'a batch of two days', 'rows in the journal'] as const),
  ...fileOperations.map((operation) => `a power cut at a ${operation}` as const),
] as const;
export type RareThing = (typeof rareThings)[number];

/** The state that an event opens, and for how long. */
function openedBy(event: WorldEvent): { readonly state: OpenState; readonly forMs: number } | undefined {
  switch (event.kind) {
    case 'kill':
    case 'restart':
      return { state: 'a service down', forMs: event.downMs };
    case 'power-cut':
      return { state: 'the power off', forMs: event.downMs };
    case 'pause':
      return { state: 'a pause', forMs: event.forMs };
    case 'disk':
      return { state: 'the disk failing', forMs: event.forMs };
    case 'locked':
      return { state: 'the database away', forMs: event.forMs };
    case 'engine':
      return { state: 'an engine down', forMs: event.forMs };
    case 'dns':
      return { state: 'an endpoint gone', forMs: event.forMs };
    case 'search':
      return { state: 'the search provider failing', forMs: event.forMs };
    case 'partition':
      return { state: 'a partition', forMs: event.forMs };
    case 'valkey':
      return { state: 'Valkey failing', forMs: event.forMs };
    case 'retire':
      return { state: 'a backend retired', forMs: event.forMs };
    case 'prices':
      return { state: 'a catalog on its way', forMs: onItsWayMs };
    case 'issuer':
      return event.change === 'rotates' ? undefined : { state: 'the issuer away', forMs: event.forMs };
    case 'payer':
    case 'request':
    case 'dies':
    case 'clock-jump':
    case 'credit':
    case 'correction':
    case 'key-status':
    case 'workspace-status':
    case 'budget':
    case 'expiry':
    case 'rotate':
    case 'cluster':
      return undefined;
  }
}

export interface SituationLog {
  /** Before an event: counts what is open now. */
  readonly happens: (event: WorldEvent) => void;
  readonly attempted: (attempt: SeenAttempt) => void;
  readonly occurred: (thing: RareThing) => void;
  readonly all: () => Situations;
}

export function createSituationLog({
  calls,
  now,
  startsAt,
  cluster,
  waitingRows,
  stopped,
}: {
  readonly calls: readonly Call[];
  readonly now: () => number;
  readonly startsAt: number;
  /** When the services follow a cluster. Undefined: never. */
  readonly cluster: { readonly fromMs: number; readonly forMs: number } | undefined;
  readonly waitingRows: () => number;
  /** Keys that are stopped now. */
  readonly stopped: () => number;
}): SituationLog {
  const counts = new Map<string, number>();
  let inCluster: { readonly name: string; readonly until: number }[] = [];
  let opened: { readonly state: OpenState; readonly from: number; readonly until: number }[] = [];
  let running: SeenAttempt[] = [];
  let firstOpen = 0;
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);

  function ofCalls(): readonly OpenState[] {
    while (calls[firstOpen] !== undefined && calls[firstOpen]?.end() !== 'open') firstOpen += 1;
    return calls.slice(firstOpen).flatMap((call): readonly OpenState[] => {
      const { event } = call;
      if (call.end() !== 'open') return [];
      return [
        event.stream ? 'a stream' : 'a whole answer',
        ...(event.choices > 1 ? (['several choices'] as const) : []),
        ...(event.search === undefined ? [] : (['a search'] as const)),
        ...(event.upload === undefined || call.headAt() !== undefined ? [] : (['an upload'] as const)),
      ];
    });
  }

  function ofTime(): readonly OpenState[] {
    const [at, soon] = [startsAt + now(), startsAt + now() + closeMs];
    const before = at - closeMs;
    const changes = (part: (moment: Date) => number): boolean =>
      part(new Date(before)) !== part(new Date(at)) || part(new Date(at)) !== part(new Date(soon));
    const days = (moment: Date): number => Math.floor(moment.getTime() / dayMs);
    return [
      ...(changes((moment) => Math.floor(moment.getTime() / hourMs)) ? (['the end of an hour'] as const) : []),
      ...(changes(days) ? (['the end of a day'] as const) : []),
      // The first day of the Unix epoch was a Thursday.
      ...(changes((moment) => Math.floor((days(moment) + 3) / 7)) ? (['the end of a week'] as const) : []),
      ...(changes((moment) => moment.getUTCMonth()) ? (['the end of a month'] as const) : []),
    ];
  }

  function states(): ReadonlySet<OpenState> {
    opened = opened.filter(({ until }) => until > now());
    running = running.filter(({ ended }) => ended === undefined);
    const isAwayLong = opened.some(({ state, from }) => state === 'the database away' && now() - from > hourMs / 2);
    return new Set<OpenState>([
      ...ofCalls(),
      ...ofTime(),
      ...opened.map(({ state }) => state),
      ...(isAwayLong ? (['the database away for half an hour'] as const) : []),
      ...(running.some(({ start }) => start.reason === 'hedge') ? (['a hedge'] as const) : []),
      ...(running.some(({ start }) => start.reason === 'resume') ? (['a continuation'] as const) : []),
      ...(waitingRows() > 0 ? (['rows to settle'] as const) : []),
      ...(stopped() > 0 ? (['a key stopped'] as const) : []),
    ]);
  }

  /** Counts which states of the cluster an event meets. */
  function happensInCluster(event: WorldEvent): void {
    const isOn = cluster !== undefined && now() >= cluster.fromMs && now() < cluster.fromMs + cluster.forMs;
    const happening = isOn ? clusterEventOf(event) : undefined;
    if (happening === undefined) return;
    const { name, forMs } = happening;
    inCluster = inCluster.filter(({ until }) => until > now());
    for (const state of new Set(inCluster.map((open) => open.name))) count(clusterPair(name, state));
    if (isClusterState(name)) inCluster.push({ name, until: now() + forMs });
  }

  return {
    happens: (event) => {
      happensInCluster(event);
      for (const state of states()) count(`${event.kind} × ${state}`);
      const opening = openedBy(event);
      if (opening !== undefined) opened.push({ state: opening.state, from: now(), until: now() + opening.forMs });
    },
    attempted: (attempt) => void running.push(attempt),
    occurred: count,
    all: () => counts,
  };
}

const clusterPair = (name: string, state: string): string => `in the cluster, ${name} × ${state}`;

/** What occurred and what never did, as lines. */
export function writeSituations(found: Situations): readonly string[] {
  const things = rareThings.map((thing) => `${thing} ${found.get(thing) ?? 0}`);
  return [
    ...pairLines('situations', { events: eventKinds, states: openStates }, (kind, state) =>
      found.has(`${kind} × ${state}`),
    ),
    ...pairLines('of the cluster', { events: clusterEventNames, states: clusterStates }, (name, state) =>
      found.has(clusterPair(name, state)),
    ),
    things.join(', '),
  ];
}

function pairLines(
  title: string,
  { events, states }: { readonly events: readonly string[]; readonly states: readonly string[] },
  occurred: (event: string, state: string) => boolean,
): readonly string[] {
  const missing = events.map((event) => ({ event, states: states.filter((state) => !occurred(event, state)) }));
  const pairs = events.length * states.length;
  const reached = pairs - missing.reduce((sum, { states: { length } }) => sum + length, 0);
  const lines = missing.flatMap(({ event, states: left }) =>
    left.length === 0 ? [] : [`  ${event}: ${left.join(', ')}`],
  );
  return [
    `${title}: ${reached} of ${pairs} pairs of an event and an open state`,
    ...(lines.length === 0 ? [] : ['never occurred:', ...lines]),
  ];
}
