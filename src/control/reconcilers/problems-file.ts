import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { type Problem, problemSchema } from '../core/problem.ts';
import { readKeptFile, replaceFile } from '../../process/kept-file.ts';

/** Keeps the listed problems and their times over a restart. */
interface ProblemsFile {
  /** Empty when there is no file, or the file cannot be read. */
  readonly load: () => Promise<readonly Problem[]>;
  /** Replaces the whole file. Rejects when it cannot be written. */
  readonly save: (problems: readonly Problem[]) => Promise<void>;
}

const fileBody = z.object({ version: z.literal(1), problems: z.array(problemSchema) });

/** The file of one service in the data folder. `service`: its number. */
export function createProblemsFile(data: string, service: number): ProblemsFile {
  const file = join(data, 'problems', `service-${service}.json`);
  return {
    // Without the file, all problems count as new.
    load: async () => (await readKeptFile(file, fileBody))?.problems ?? [],
    save: async (problems) => {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await replaceFile(file, JSON.stringify({ version: 1, problems }), 0o600);
    },
  };
}
