import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { type Problem, problemSchema } from '../core/problem.ts';
import { readKeptFile, replaceFile } from '../../process/kept-file.ts';

const fileBody = z.object({ version: z.literal(1), problems: z.array(problemSchema) });

/** Keeps the listed problems and their times over a restart, in a file of the data folder. `service`: its number. */
export function createProblemsFile(data: string, service: number) {
  const file = join(data, 'problems', `service-${service}.json`);
  return {
    /** Empty when there is no file, or the file cannot be read: all problems then count as new. */
    load: async (): Promise<readonly Problem[]> => (await readKeptFile(file, fileBody))?.problems ?? [],
    /** Replaces the whole file. Rejects when it cannot be written. */
    save: async (problems: readonly Problem[]): Promise<void> => {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await replaceFile(file, JSON.stringify({ version: 1, problems }), 0o600);
    },
  };
}
