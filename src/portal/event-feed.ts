import { every } from '../core/clock.ts';
import { messageOf } from '../core/failure.ts';
import { formatUsd } from '../core/money.ts';
import { cutProblems } from '../core/problem.ts';
import type { EndedStory } from '../core/story.ts';
import { currentSessions } from './authenticate.ts';
import type { PublishedEvent } from './event-hub.ts';
import type { EventFeed, Portal } from './portal.ts';
import type { FollowedServices } from './services.ts';

const everyMs = 1_000;
/** How long the services are followed after the last reader has left, because a page that reloads opens its stream again. */
const unreadMs = 10_000;
/** Most problems in one event, because the page shows them all at once. */
const mostProblems = 50;
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
    const changed = (await readBalances()).filter(({ event }) => {
      if (event.name !== 'balance' || balances.get(event.data.workspace_id) === event.data.balance) return false;
      balances.set(event.data.workspace_id, event.data.balance);
      return true;
    });
    events.publish(changed);
  }

  async function lookAtProblems(): Promise<void> {
    const health = await readHealth();
    const text = health.event.name === 'health' ? JSON.stringify(health.event.data.problems) : '';
    if (text !== shownProblems) events.publish([health]);
    shownProblems = text;
  }

  async function readBalances(): Promise<readonly PublishedEvent[]> {
    const workspaces = await store.listWorkspaces();
    names = new Map(workspaces.map(({ id, name }) => [id, name]));
    return workspaces.map(({ id, name, balance }): PublishedEvent => {
      const data = { workspace_id: id, workspace: name, balance: formatUsd(balance) };
      return { event: { name: 'balance', data }, about: { workspaceId: id } };
    });
  }

  /** Begins to follow the services. Resolves when requests that end from then on will be published. */
  function follow(): Promise<void> {
    wantedAt = clock.elapsed();
    following ??= services.follow({
      stories: (stories) => {
        const requests = stories.map((story) => requestEvent(story, names)).filter((event) => event !== undefined);
        // Cached reports are dropped first, because pages read the sums again after the event.
        forgetReports();
        events.publish(requests);
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

  async function readHealth(): Promise<PublishedEvent> {
    const { problems } = await portal.problems();
    const data = { at: new Date(clock.now()).toISOString(), problems: [...cutProblems(problems, mostProblems)] };
    return { event: { name: 'health', data }, about: noWorkspace };
  }

  const cancel = every(clock, everyMs, async () => {
    stopUnlessRead();
    if (events.readers() === 0) return;
    await look().catch((error: unknown) =>
      log.warn({ error: messageOf(error) }, 'the events of the portal could not be read'),
    );
  });

  return {
    first: async () => {
      await follow();
      return [...(await readBalances()), await readHealth()];
    },
    close: () => {
      cancel();
      following?.stop();
    },
  };
}

/** The request in the form of the ledger. Undefined if nothing was settled. */
function requestEvent({ settled }: EndedStory, names: ReadonlyMap<string, string>): PublishedEvent | undefined {
  if (settled === null) return undefined;
  const { workspace } = settled;
  const data = { ...settled, workspace: names.get(workspace) ?? workspace };
  return { event: { name: 'request', data }, about: { workspaceId: workspace } };
}
