import type { Authorship } from '../../src/core/administration.ts';
import { creditWorkspace } from '../../src/store/accounts/credits.ts';
import { setKeyBudget, setKeyStatus } from '../../src/store/accounts/change-keys.ts';
import { createKey } from '../../src/store/accounts/keys.ts';
import { createWorkspace, setWorkspaceStatus } from '../../src/store/accounts/workspaces.ts';
import type { OpenDatabase } from '../../src/store/databases/database.ts';
import { openDatabase } from '../../src/store/databases/open-database.ts';
import type { Disk } from './disk.ts';
import type { AccountEvent, WorldPlan } from './events.ts';
import { createProgram, type Program } from './program.ts';
import type { Scheduler } from './scheduler.ts';
import { databaseFile } from './service.ts';
import type { SimulatedSqlite } from './sqlite.ts';
import { tightBudget, type WorldKey } from './world-view.ts';

/** The program with which an operator changes accounts: it has the database open, as a command of `weir` has. */
export interface Operator {
  readonly database: () => OpenDatabase | undefined;
  readonly keys: readonly WorldKey[];
  readonly workspaceIds: readonly string[];
  /** Of keys that were stopped, themselves or with their workspace, by number: when the change was durable. */
  readonly stoppedAt: ReadonlyMap<number, number>;
  /** Changes that were made. */
  readonly mutations: () => number;
  readonly open: () => Promise<void>;
  readonly createAccounts: () => Promise<void>;
  readonly operate: (event: AccountEvent) => Promise<void>;
  readonly kill: () => void;
}

interface OperatorOptions {
  readonly plan: WorldPlan;
  readonly scheduler: Scheduler;
  readonly disk: Disk;
  readonly sqlite: SimulatedSqlite;
  readonly isLocked: () => boolean;
}

/** How soon it tries again to open a database that it could not open. */
const openAgainMs = 1_000;
const richCredit = 1_000_000_000_000n;
/** Of the last workspace. */
const poorCredit = 2_000_000_000n;

export function createOperator({ plan, scheduler, disk, sqlite, isLocked }: OperatorOptions): Operator {
  const { log } = scheduler;
  const keys: WorldKey[] = [];
  const workspaceIds: string[] = [];
  const stoppedAt = new Map<number, number>();
  /** Keys and workspaces that are not active: a change to the same status is none. */
  const stopped = new Set<string>();
  let mutations = 0;
  let running: { readonly program: Program; readonly database: OpenDatabase } | undefined;

  const author = (): Authorship => ({
    actor: { kind: 'command-line', name: 'operator' },
    now: plan.startsAt + Math.floor(scheduler.now()),
  });

  async function open(): Promise<void> {
    const program = createProgram('operator', scheduler, plan.startsAt);
    const machine = { time: program.time, files: disk.files, sqlite: sqlite.driverOn(disk, program, isLocked) };
    const location = { kind: 'sqlite', file: databaseFile } as const;
    try {
      const database = await openDatabase(location, { missing: 'create', user: 'service' }, machine);
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
    for (let workspace = 0; workspace < 3; workspace += 1) {
      const credit = workspace === 2 ? poorCredit : richCredit;
      const made = await createWorkspace(queries, { name: `ws${workspace}`, credit, maxInFlight: 64 }, first);
      workspaceIds.push(made.id);
      mutations += 1;
    }
    // Two of each workspace, then one that is revoked some time, of the first two.
    for (const [number, workspace] of [0, 0, 1, 1, 2, 2, 0, 1].entries()) {
      const isTight = number < 4 && number % 2 === 1;
      const budget = isTight ? { limit: tightBudget, period: 'day' as const } : undefined;
      const { key, text } = await createKey(
        queries,
        {
          ...{ workspace: workspaceIds[workspace] ?? '', rate: 50, burst: 100 },
          ...(budget === undefined ? {} : { budget }),
        },
        first,
      );
      mutations += 1;
      keys.push({ id: key.id, text, workspace });
    }
  }

  function noteStatus(name: string, numbers: readonly number[], isActive: boolean): boolean {
    for (const number of numbers) {
      if (isActive) stoppedAt.delete(number);
      else if (!stoppedAt.has(number)) stoppedAt.set(number, scheduler.now());
    }
    const wasStopped = stopped.has(name);
    if (isActive) stopped.delete(name);
    else stopped.add(name);
    return wasStopped === isActive;
  }

  /** Makes a change. Returns whether it was one. */
  async function change({ queries }: OpenDatabase, event: AccountEvent): Promise<boolean> {
    const by = author();
    switch (event.kind) {
      case 'credit': {
        const credit = { amount: BigInt(event.picoUsd), note: 'x' };
        await creditWorkspace(queries, workspaceIds[event.workspace] ?? '', credit, by);
        return true;
      }
      case 'key-status':
        await setKeyStatus(queries, keys[event.key]?.id ?? '', event.status, by);
        return noteStatus(`key ${event.key}`, [event.key], event.status === 'active');
      case 'budget': {
        const budget = { limit: BigInt(event.picoUsd), period: 'day' } as const;
        await setKeyBudget(queries, keys[event.key]?.id ?? '', budget, by);
        return true;
      }
      case 'workspace-status': {
        await setWorkspaceStatus(queries, workspaceIds[event.workspace] ?? '', event.status, by);
        const numbers = [...keys.entries()].filter(([, { workspace }]) => workspace === event.workspace);
        return noteStatus(
          `workspace ${event.workspace}`,
          numbers.map(([number]) => number),
          event.status === 'active',
        );
      }
    }
  }

  return {
    ...{ keys, workspaceIds, stoppedAt, open, createAccounts },
    database: () => running?.database,
    mutations: () => mutations,
    operate: async (event) => {
      if (running === undefined) return;
      try {
        if (!(await change(running.database, event))) return;
        mutations += 1;
        log.write(`operator ${event.kind} done`);
      } catch (error) {
        // It may have been made all the same.
        log.write(`operator ${event.kind} failed: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
    kill: () => {
      running?.program.kill();
      running = undefined;
    },
  };
}
