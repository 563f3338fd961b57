import type { Authorship } from '../../src/books/core/administration.ts';
import { Refusal } from '../../src/books/core/operator-refusals.ts';
import { changeIdentity, createIdentity } from '../../src/books/accounts/identities.ts';
import { identityAccountHash } from '../../src/books/accounts/identity-accounts.ts';
import { creditWorkspace } from '../../src/books/accounts/credits.ts';
import { changeKey } from '../../src/books/accounts/change-keys.ts';
import { createKey } from '../../src/books/accounts/keys.ts';
import { newKey } from '../../src/books/accounts/key-text.ts';
import { rotateKey } from '../../src/books/accounts/rotate-key.ts';
import { setTagBudget } from '../../src/books/accounts/tag-budgets.ts';
import { reservedFor } from '../../src/books/accounts/reservations.ts';
import { changeWorkspace, createWorkspace, findWorkspace } from '../../src/books/accounts/workspaces.ts';
import type { OpenDatabase } from '../../src/books/databases/database.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { keepSubscriptions } from '../../src/books/outbox/subscriptions.ts';
import { eventKinds } from '../../src/core/event-type.ts';
import { listRequests } from '../../src/books/ledger/list-requests.ts';
import { accountRows } from './check-events.ts';
import type { Disk } from './disk.ts';
import type { AccountEvent, WorldPlan } from './events.ts';
import { createProgram, type Program } from './program.ts';
import type { Scheduler } from './scheduler.ts';
import type { WorldDatabase } from './world-database.ts';
import { accountOf, identityPlans, keyPlans, tagBudgets, togetherWith, unknownKey, workspaces } from './accounts.ts';
import { audience, teamOf } from './issuer.ts';
import type { KeyState, StateChange } from './key-states.ts';
import type { BalanceChange, Correction, World, WorldKey } from './world-view.ts';

/** The program with which an operator changes accounts: it has the database open, as a command of `weir` has. */
export interface Operator {
  readonly database: () => OpenDatabase | undefined;
  readonly keys: readonly WorldKey[];
  readonly workspaceIds: readonly string[];
  /** Of keys that were stopped, themselves or with their workspace, by number: when the change was durable. */
  readonly stoppedAt: ReadonlyMap<number, number>;
  readonly changes: readonly StateChange[];
  readonly balanceChanges: readonly BalanceChange[];
  readonly budgetChanges: World['budgetChanges'];
  readonly payerChanges: World['payerChanges'];
  readonly learnAccounts: World['learnAccounts'];
  readonly earlierRows: World['earlierRows'];
  /** Changes that were made. */
  readonly mutations: () => number;
  readonly corrections: readonly Correction[];
  readonly open: () => Promise<void>;
  readonly createAccounts: () => Promise<void>;
  readonly operate: (event: AccountEvent) => Promise<void>;
  readonly kill: () => void;
}

type StatusEvent = Extract<AccountEvent, { readonly status: unknown }>;

interface OperatorOptions {
  readonly plan: WorldPlan;
  readonly scheduler: Scheduler;
  readonly disk: Pick<Disk, 'files'>;
  readonly store: Pick<WorldDatabase, 'location' | 'machineFor' | 'observer'>;
  readonly isLocked: () => boolean;
  /** The issuer that identities take tokens of. */
  readonly issuer: string;
}

/** How far a wall clock is set in a world, at most, and how far it then stands from the others. */
export const maxJumpMs = 12_000;
/** How soon it tries again to open a database that it could not open. */
const openAgainMs = 1_000;

export function createOperator({ plan, scheduler, disk, store, isLocked, issuer }: OperatorOptions): Operator {
  const { log } = scheduler;
  /** How far the clocks of two services may differ. */
  const skewMs = plan.events.some(({ kind }) => kind === 'clock-jump') ? maxJumpMs : 0;
  const keys: (WorldKey & { id: string })[] = [];
  const workspaceIds: string[] = [];
  const stoppedAt = new Map<number, number>();
  /** Keys and workspaces that are not active: a change to the same status is none. */
  const stopped = new Set<string>();
  /** Keys and workspaces of which a change failed, and may have been made all the same. */
  const unknown = new Set<string>();
  const corrections: Correction[] = [];
  const changes: (StateChange & { doneMs: number })[] = [];
  const budgetChanges: (StateChange<bigint> & { doneMs: number })[] = [];
  const payerChanges: (StateChange<number> & { doneMs: number })[] = [];
  const balanceChanges: BalanceChange[] = [];
  const earlierRows = new Set<string>();
  let mutations = 0;
  let running: { readonly program: Program; readonly database: OpenDatabase } | undefined;

  const author = (): Authorship => ({
    actor: { kind: 'command-line', name: 'operator' },
    now: plan.startsAt + Math.floor(scheduler.now()),
  });

  async function open(): Promise<void> {
    const program = createProgram('operator', scheduler, plan.startsAt);
    const machine = { time: program.time, files: disk.files, ...store.machineFor(program, isLocked) };
    try {
      const database = await openDatabase(store.location, { missing: 'create', user: 'service' }, machine);
      running = { program, database };
    } catch (error) {
      log.write(`the operator cannot open the database: ${error instanceof Error ? error.message : String(error)}`);
      scheduler.after(openAgainMs, () => void open());
    }
  }

  async function createAccounts(): Promise<void> {
    if (running === undefined) throw new Error('the world has no database');
    const { queries } = running.database;
    const first = author();
    await keepSubscriptions(queries, [{ name: 'events', kinds: eventKinds }], first.now);
    for (const id of await accountRows(queries)) earlierRows.add(id);
    for (const { requestId } of await listRequests(queries, {}, 100_000)) earlierRows.add(requestId);
    for (const [workspace, limits] of workspaces.entries()) {
      const made = await createWorkspace(queries, { name: teamOf(plan.seed, workspace), ...limits }, first);
      workspaceIds.push(made.id);
      mutations += 1;
    }
    for (const [number, plan] of keyPlans.entries()) {
      const { workspace } = plan;
      if (accountOf(number) !== undefined) {
        // Worlds with identities give it its hash.
        keys.push({ id: '', text: '', workspace });
        continue;
      }
      if (number === unknownKey) {
        keys.push({ id: 'unknown', text: newKey(), workspace });
        continue;
      }
      const { key, text } = await createKey(queries, { ...plan, workspace: workspaceIds[workspace] ?? '' }, first);
      mutations += 1;
      keys.push({ id: key.id, text, workspace });
    }
    for (const tagBudget of tagBudgets) {
      await setTagBudget(queries, workspaceIds[tagBudget.workspace] ?? '', tagBudget, first);
      mutations += 1;
    }
    if (plan.identities === true) await createIdentities(queries, first);
  }

  const nameOf = (identity: string): string => `${identity}-${plan.seed}`;

  async function createIdentities(queries: OpenDatabase['queries'], first: Authorship): Promise<void> {
    const ids = new Map<string, string>();
    for (const { name, payer, tags, accounts: _, ...rules } of identityPlans) {
      const workspace = payer === 'claim' ? { claim: 'claims.team' } : { name: teamOf(plan.seed, payer) };
      const expressions = Object.fromEntries(Object.entries(tags).map(([tag, claim]) => [tag, `claims.${claim}`]));
      const identity = { ...rules, name: nameOf(name), issuer, audience, match: [`claims.app == "${name}"`] };
      const wanted = { ...identity, workspace, tags: expressions, isBound: false, models: undefined };
      ids.set(name, (await createIdentity(queries, { ...wanted, budget: rules.budget }, first)).id);
      mutations += 1;
    }
    for (const number of keyPlans.keys()) {
      const account = accountOf(number);
      if (account === undefined) continue;
      const { identity, workspace, subject } = account;
      const identityId = ids.get(identity.name) ?? '';
      const hash = identityAccountHash({ identityId, workspace: teamOf(plan.seed, workspace), subject });
      keys[number] = { id: '', text: '', hash, workspace };
    }
  }

  async function learnAccounts(queries: OpenDatabase['queries']): Promise<void> {
    const opened = await queries
      .selectFrom('keys')
      .select(['id', 'hash'])
      .where('identity_id', 'is not', null)
      .execute();
    for (const { id, hash } of opened) {
      const account = keys.find((key) => key.hash === hash);
      if (account !== undefined) account.id = id;
    }
  }

  /** Notes a change that was made. Returns whether it surely was one. */
  function noteStatus(event: StatusEvent): boolean {
    const { name, numbers } = statusOf(event);
    const isActive = event.status === 'active';
    for (const number of numbers) {
      if (isActive) stoppedAt.delete(number);
      else if (!stoppedAt.has(number)) stoppedAt.set(number, scheduler.now());
    }
    const wasUnknown = unknown.delete(name);
    const wasStopped = stopped.has(name);
    if (isActive) stopped.delete(name);
    else stopped.add(name);
    return !wasUnknown && wasStopped === isActive;
  }

  /** Notes a change whose answer was lost: the key, or the workspace, may have the old status or the new one. */
  function noteUnknown(event: StatusEvent): void {
    const { name, numbers } = statusOf(event);
    for (const number of numbers) stoppedAt.delete(number);
    unknown.add(name);
  }

  /** What changes its status, and the numbers of the keys concerned. */
  function statusOf(event: StatusEvent): { readonly name: string; readonly numbers: readonly number[] } {
    if (event.kind === 'key-status') return { name: `key ${event.key}`, numbers: togetherWith(event.key) };
    const numbers = [...keys.keys()].filter((number) => keys[number]?.workspace === event.workspace);
    return { name: `workspace ${event.workspace}`, numbers };
  }

  /**
   * Takes a share of a balance, unless this is reserved for requests under way. Returns whether it did. On SQLite nothing
   * happens between two of its statements.
   */
  async function correct(
    queries: OpenDatabase['queries'],
    event: Extract<AccountEvent, { readonly kind: 'correction' }>,
  ): Promise<boolean> {
    const id = workspaceIds[event.workspace] ?? '';
    const by = author();
    const { balance } = await findWorkspace(queries, id);
    const amount = (balance * BigInt(Math.round(event.share * 100))) / 100n;
    if (amount <= 0n) return false;
    const left = balance - amount;
    const taken = { workspace: event.workspace, amount: -amount, fromMs: scheduler.now(), doneMs: Infinity };
    balanceChanges.push(taken);
    const reserved = await reservedFor(queries, id, by.now);
    const isExact = store.observer === undefined;
    try {
      await creditWorkspace(queries, id, { amount: -amount, note: 'x' }, by);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (isExact) corrections.push({ isMade: false, left, reserved });
      log.write('operator correction refused');
      return false;
    }
    if (isExact) corrections.push({ isMade: true, left, reserved });
    taken.doneMs = scheduler.now();
    const picoUsd = String(amount);
    const back: AccountEvent = { kind: 'credit', at: scheduler.now(), workspace: event.workspace, picoUsd };
    scheduler.after(event.forMs, () => void operate(back));
    return true;
  }

  async function operate(event: AccountEvent): Promise<void> {
    if (running === undefined) return;
    const noted = noteAttempt(event);
    try {
      const isChange = await change(running.database, event);
      noted(scheduler.now());
      if (isChange) mutations += 1;
      await running.database.announce();
      if (isChange) log.write(`operator ${event.kind} done`);
    } catch (error) {
      if (event.kind === 'key-status' || event.kind === 'workspace-status') noteUnknown(event);
      log.write(`operator ${event.kind} failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Notes a change that may have been made from now on. Returns what notes that it was made. */
  function noteAttempt(event: AccountEvent): (doneMs: number) => void {
    const fromMs = scheduler.now();
    const note = (of: string, state: KeyState, endsMs = fromMs): ((doneMs: number) => void) =>
      noteIn(changes, { of, state, endsMs });
    const noteIn = <State>(
      all: (StateChange<State> & { doneMs: number })[],
      { of, state, endsMs = fromMs }: { readonly of: string; readonly state: State; readonly endsMs?: number },
    ): ((doneMs: number) => void) => {
      const change = { of, state, fromMs: Math.max(fromMs, endsMs - skewMs), doneMs: Infinity };
      all.push(change);
      return (doneMs) => {
        change.doneMs = Math.max(doneMs, endsMs + (endsMs > fromMs ? skewMs : 0));
      };
    };
    switch (event.kind) {
      case 'key-status':
        return note(`key ${event.key}`, event.status);
      case 'workspace-status':
        return note(`workspace ${event.workspace}`, event.status);
      case 'expiry':
        return note(`end of key ${event.key}`, 'expired', fromMs + event.inMs);
      case 'rotate':
        return note(`end of key ${event.key}`, 'expired', fromMs + event.overlapMs);
      case 'credit': {
        const change = { workspace: event.workspace, amount: BigInt(event.picoUsd), fromMs, doneMs: Infinity };
        balanceChanges.push(change);
        return (doneMs) => {
          change.doneMs = doneMs;
        };
      }
      case 'budget':
        return noteIn(budgetChanges, { of: `key ${event.key}`, state: BigInt(event.picoUsd) });
      case 'payer':
        return noteIn(payerChanges, { of: `key ${event.key}`, state: event.workspace });
      case 'correction':
        return () => undefined;
    }
  }

  /** Makes a change. Returns whether it was one. */
  async function change({ queries }: OpenDatabase, event: AccountEvent): Promise<boolean> {
    const by = author();
    const { identity } = 'key' in event ? (accountOf(event.key) ?? {}) : {};
    switch (event.kind) {
      case 'credit': {
        const credit = { amount: BigInt(event.picoUsd), note: 'x' };
        await creditWorkspace(queries, workspaceIds[event.workspace] ?? '', credit, by);
        return true;
      }
      case 'correction':
        return correct(queries, event);
      case 'expiry':
        await changeKey(queries, keys[event.key]?.id ?? '', { expiresAt: by.now + event.inMs }, by);
        noteEnd(event.key, event.inMs);
        return true;
      case 'rotate': {
        const rotated = keys[event.key];
        if (rotated === undefined || rotated.later !== undefined) return false;
        const { key, text } = await rotateKey(queries, rotated.id, event, by);
        rotated.later = { id: key.id, text };
        noteEnd(event.key, event.overlapMs);
        return true;
      }
      case 'key-status':
        if (identity === undefined) await changeKey(queries, keys[event.key]?.id ?? '', { status: event.status }, by);
        else await changeIdentity(queries, nameOf(identity.name), { status: event.status }, by);
        return noteStatus(event);
      case 'budget': {
        const budget = { limit: BigInt(event.picoUsd), period: 'day' } as const;
        if (identity === undefined) await changeKey(queries, keys[event.key]?.id ?? '', { budget }, by);
        else await changeIdentity(queries, nameOf(identity.name), { budget }, by);
        return identity === undefined;
      }
      case 'payer': {
        const workspace = { name: teamOf(plan.seed, event.workspace) };
        await changeIdentity(queries, nameOf(identity?.name ?? ''), { workspace }, by);
        return false;
      }
      case 'workspace-status':
        await changeWorkspace(queries, workspaceIds[event.workspace] ?? '', { status: event.status }, by);
        return noteStatus(event);
    }
  }

  /** From its end on, whatever clock a replica has, no one has the key. */
  const noteEnd = (key: number, inMs: number): void =>
    void scheduler.after(inMs + skewMs, () => stoppedAt.set(key, scheduler.now()));

  return {
    ...{ keys, workspaceIds, stoppedAt, corrections, open, createAccounts, operate, changes, balanceChanges },
    ...{ budgetChanges, payerChanges, earlierRows, learnAccounts },
    database: () => running?.database,
    mutations: () => mutations,
    kill: () => {
      running?.program.kill();
      running = undefined;
    },
  };
}
