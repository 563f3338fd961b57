import { mkdir, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { type Problem, problemSchema } from '../core/problem.ts';
import { maxKeptBytes, readBoundedFile } from '../../process/bounded-file.ts';

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
    load: async () => {
      try {
        return fileBody.parse(JSON.parse(String(await readBoundedFile(file, maxKeptBytes)))).problems;
      } catch {
        // Without the file, all problems count as new.
        return [];
      }
    },
    save: async (problems) => {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      const draft = `${file}.draft`;
      await using handle = await open(draft, 'w', 0o600);
      await handle.writeFile(JSON.stringify({ version: 1, problems }));
      await rename(draft, file);
    },
  };
}
