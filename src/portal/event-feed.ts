import type { Workspace } from '../core/account.ts';
import { every } from '../core/clock.ts';
import { messageOf } from '../core/failure.ts';
import { formatUsd } from '../core/money.ts';
import { cutProblems, listedProblem } from '../control/core/problem.ts';
import { type ReasonReader, reasonOf, reasonOfRow } from '../telemetry/core/request-reason.ts';
import type { EndedStory } from '../telemetry/core/story.ts';
import { currentSessions } from './authenticate.ts';
import type { PublishedEvent } from './event-hub.ts';
import type { EventFeed, Portal } from './portal.ts';
import { refusedRequest } from './request-list.ts';
import type { FollowedServices } from './services.ts';

const everyMs = 1_000;
/** How long the services are followed after the last reader has left, because a page that reloads opens its stream again. */
const unreadMs = 10_000;
/** Most problems in one event, because the page shows them all at once. */
const maxProblems = 50;
/** Most names of keys that are kept. */
const maxKeys = 10_000;
const noWorkspace = { workspaceId: undefined } as const;

/**
 * Publishes events while pages read them. Requests are published as soon as the services report them. Changed balances,
 * changed problems and the end of sessions are published once a second, by one look for all readers.
 */
export function createEventFeed(portal: Omit<Portal, 'feed'>): EventFeed {
  const { store, services, events, forgetReports, clock, log } = portal;
  const balances = new Map<string, string>();
  let shownProblems = '';
  let names: ReadonlyMap<string, string> = new Map();
  /** Names of keys that had requests. A name that is changed meanwhile is read again with the list of requests. */
  const keys = new Map<string, string>();
  /** Resolves when all earlier requests are published, so that their order stays. */
  let published = Promise.resolve();
  let following: FollowedServices | undefined;
  let wantedAt = 0;

  /** Reads accounts and problems independently, so that problems are still published while the database is down. */
  async function look(): Promise<void> {
    const looked = await Promise.allSettled([lookAtAccounts(), lookAtProblems()]);
    for (const one of looked) if (one.status === 'rejected') throw one.reason;
  }

  async function lookAtAccounts(): Promise<void> {
    const hashes = events.sessions();
    const current = await currentSessions(portal, [...hashes]);
    for (const hash of hashes) if (!current.has(hash)) events.endSession(hash);
    for (const session of current.values()) events.renewSession(session);
    const changed = (await readBalances()).filter(({ event }) => {
      if (event.name !== 'balance' || balances.get(event.data.workspace_id) === event.data.balance) return false;
      balances.set(event.data.workspace_id, event.data.balance);
      return true;
    });
    events.publish(changed);
  }

  async function lookAtProblems(): Promise<void> {
    const health = healthEvent(await portal.problems(), clock.now());
    const text = health.event.name === 'health' ? JSON.stringify(health.event.data.problems) : '';
    if (text !== shownProblems) events.publish([health]);
    shownProblems = text;
  }

  async function readBalances(): Promise<readonly PublishedEvent[]> {
    const workspaces = await store.listWorkspaces();
    names = new Map(workspaces.map(({ id, name }) => [id, name]));
    return workspaces.map(balanceEvent);
  }

  /** Publishes ended requests with the names of their keys. Without the database they have no names. */
  async function publishStories(stories: readonly EndedStory[]): Promise<void> {
    const unknown = new Set(stories.flatMap(({ key }) => (key === null || keys.has(key) ? [] : [key])));
    if (unknown.size > 0) {
      const found = await store.keyNames([...unknown]).catch(() => new Map<string, string>());
      if (keys.size > maxKeys) keys.clear();
      for (const [id, name] of found) keys.set(id, name);
    }
    const requests = stories.map((story) => requestEvent(story, { workspaces: names, keys }));
    // Cached reports are dropped first, because pages read the sums again after the event.
    forgetReports();
    events.publish(requests.filter((event) => event !== undefined));
  }

  /** Begins to follow the services. Resolves when requests that end from then on will be published. */
  function follow(): Promise<void> {
    wantedAt = clock.elapsed();
    following ??= services.follow({
      stories: (stories) => {
        published = published.then(() => publishStories(stories));
      },
      missed: (requests) =>
        events.publish([{ event: { name: 'missed', data: { events: requests } }, about: noWorkspace }]),
    });
    return following.begun;
  }

  /** Stops following the services some time after the last reader has left. */
  function stopUnlessRead(): void {
    if (events.readers() > 0) wantedAt = clock.elapsed();
    if (clock.elapsed() - wantedAt < unreadMs) return;
    following?.stop();
    following = undefined;
  }

  const cancel = every(clock, everyMs, async () => {
    stopUnlessRead();
    if (events.readers() === 0) return;
    await look().catch((error: unknown) => log.warn({ error: messageOf(error) }, 'reading portal events failed'));
  });

  return {
    first: async () => {
      await follow();
      return [...(await readBalances()), healthEvent(await portal.problems(), clock.now())];
    },
    close: () => {
      cancel();
      following?.stop();
    },
  };
}

function balanceEvent({ id, name, balance }: Workspace): PublishedEvent {
  const data = { workspace_id: id, workspace: name, balance: formatUsd(balance) };
  return { event: { name: 'balance', data }, about: { workspaceId: id } };
}

function healthEvent({ problems }: Awaited<ReturnType<Portal['problems']>>, now: number): PublishedEvent {
  const data = { at: new Date(now).toISOString(), problems: cutProblems(problems, maxProblems).map(listedProblem) };
  return { event: { name: 'health', data }, about: noWorkspace };
}

/** The request in the form of the list. Undefined: its caller left before it was refused or settled. */
function requestEvent(
  story: EndedStory,
  {
    workspaces,
    keys,
  }: { readonly workspaces: ReadonlyMap<string, string>; readonly keys: ReadonlyMap<string, string> },
): PublishedEvent | undefined {
  const { settled } = story;
  const nameOf = (id: string): string => workspaces.get(id) ?? id;
  if (settled === null) {
    if (story.outcome !== 'refused') return undefined;
    const data = refusedRequest(story, { reason: reasonOf(story, 'admin') ?? null, keys, nameOf });
    const memberReason = reasonOf(story, 'member') ?? null;
    return { event: { name: 'request', data }, about: { workspaceId: story.workspace ?? undefined, memberReason } };
  }
  const { workspace, outcome, model, fault, failure, attempt_log: log } = settled;
  const row = { kind: outcome, modelId: model, fault: fault ?? undefined, failure: failure ?? undefined };
  const why = (reader: ReasonReader) => reasonOfRow({ ...row, attemptLog: log ?? undefined }, reader) ?? null;
  const names = { workspace: nameOf(workspace), key_name: keys.get(settled.key) ?? null };
  const data = { ...settled, ...names, reason: why('admin'), refused_in_minute: null };
  return { event: { name: 'request', data }, about: { workspaceId: workspace, memberReason: why('member') } };
}
