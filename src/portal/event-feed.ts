import { every } from '../core/clock.ts';
import { messageOf } from '../core/failure.ts';
import { formatUsd } from '../core/money.ts';
import { cutProblems } from '../core/problem.ts';
import type { EndedStory } from '../core/story.ts';
import { currentSessions } from './authenticate.ts';
import type { ToldEvent } from './event-hub.ts';
import type { EventFeed, Portal } from './portal.ts';
import type { FollowedServices } from './services.ts';

const everyMs = 1_000;
/** How long the services are followed after the last reader has gone: a page that is loaded anew comes back at once. */
const unreadMs = 10_000;
/** Problems in one event: the page shows them all at once. */
const mostProblems = 50;
const nobody = { workspaceId: undefined } as const;

/**
 * Looks once a second, while somebody reads: which requests have ended, which balances have changed, what is wrong, and whose session
 * is over. One look serves all readers.
 */
export function createEventFeed(portal: Omit<Portal, 'feed'>): EventFeed {
  const { store, services, events, forgetReports, clock, log } = portal;
  const balances = new Map<string, string>();
  let shownProblems = '';
  let names: ReadonlyMap<string, string> = new Map();
  let following: FollowedServices | undefined;
  let wantedAt = 0;

  /** A database that is away is a problem to show: the problems do not wait for what is read of it. */
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
    events.tell(changed);
  }

  async function lookAtProblems(): Promise<void> {
    const health = await readHealth();
    const text = health.event.name === 'health' ? JSON.stringify(health.event.data.problems) : '';
    if (text !== shownProblems) events.tell([health]);
    shownProblems = text;
  }

  async function readBalances(): Promise<readonly ToldEvent[]> {
    const workspaces = await store.listWorkspaces();
    names = new Map(workspaces.map(({ id, name }) => [id, name]));
    return workspaces.map(({ id, name, balance }): ToldEvent => {
      const data = { workspace_id: id, workspace: name, balance: formatUsd(balance) };
      return { event: { name: 'balance', data }, about: { workspaceId: id } };
    });
  }

  /** Begins to follow the services. Resolves when each was asked once: what ends from then on is told. */
  function follow(): Promise<void> {
    wantedAt = clock.elapsed();
    following ??= services.follow({
      stories: (stories) => {
        const told = stories.map((story) => requestEvent(story, names)).filter((event) => event !== undefined);
        // Before those who look are told and ask for the sums anew.
        forgetReports();
        events.tell(told);
      },
      missed: (requests) => events.tell([{ event: { name: 'missed', data: { events: requests } }, about: nobody }]),
    });
    return following.begun;
  }

  /** Services that nobody wants to hear of are left alone. */
  function stopUnlessRead(): void {
    if (events.readers() > 0) wantedAt = clock.elapsed();
    if (clock.elapsed() - wantedAt < unreadMs) return;
    following?.stop();
    following = undefined;
  }

  async function readHealth(): Promise<ToldEvent> {
    const { problems } = await portal.problems();
    const data = { at: new Date(clock.now()).toISOString(), problems: [...cutProblems(problems, mostProblems)] };
    return { event: { name: 'health', data }, about: nobody };
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

/** The request as the ledger has it; undefined where nothing was settled. */
function requestEvent({ settled }: EndedStory, names: ReadonlyMap<string, string>): ToldEvent | undefined {
  if (settled === null) return undefined;
  const { workspace } = settled;
  const data = { ...settled, workspace: names.get(workspace) ?? workspace };
  return { event: { name: 'request', data }, about: { workspaceId: workspace } };
}
