import type { DatabaseLocation, OpenDatabase } from '../../src/books/databases/database.ts';
import type { Machine } from '../../src/books/databases/machine.ts';
import type { Chance } from '../programmable-engine/chance.ts';
import type { Disk } from './disk.ts';
import type { Program } from './program.ts';
import { quiescence, type Scheduler } from './scheduler.ts';
import { dataFolder } from './service.ts';
import type { Loses } from './losses.ts';
import type { SimulatedSqlite } from './sqlite.ts';

/** The database of a world, for the programs that open it. */
export interface WorldDatabase {
  readonly location: DatabaseLocation;
  /**
   * The parts of a program's machine that lead to the database. `isHeld`: whether the database is out of reach now: a
   * file is locked by another process, or a server is away.
   */
  readonly machineFor: (program: Program, isHeld: () => boolean) => Pick<Machine, 'sqlite' | 'postgres'>;
  /** A connection that no fault meets. Undefined: there is none but those of programs. */
  readonly observer: OpenDatabase | undefined;
  /** The services' machine has lost its power. */
  readonly powerCut: () => void;
  /** Resolves when the database works on nothing, and no promise can go on. */
  readonly quiet: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Makes the database of a world. */
export type MakeDatabase = (world: {
  readonly seed: number;
  readonly scheduler: Scheduler;
  readonly disk: Disk;
  readonly chance: Chance;
  /** Whether the database loses something now. */
  readonly loses: Loses;
}) => Promise<WorldDatabase>;

/** A file on the world's disk. */
export const onSqlite =
  (sqlite: SimulatedSqlite): MakeDatabase =>
  async ({ disk, chance, loses }) => {
    sqlite.seed(chance);
    return {
      location: { kind: 'sqlite', file: `${dataFolder}/weir.db` },
      machineFor: (program, isHeld) => ({
        sqlite: sqlite.driverOn(disk, program, { isHeld, losesCommit: () => loses('commit') }),
      }),
      observer: undefined,
      powerCut: sqlite.forgetAll,
      quiet: quiescence,
      close: async () => sqlite.forgetAll(),
    };
  };
