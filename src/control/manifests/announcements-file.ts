import * as z from 'zod';
import type { Announcement } from '../../core/catalog.ts';
import { readKeptFile, replaceFile } from '../../process/kept-file.ts';

const fileBody = z.object({
  version: z.literal(1),
  models: z.array(z.object({ name: z.string(), announcedAt: z.number(), announcedFor: z.number().optional() })),
});

/** Keeps the announced retirements of a manifest folder's models over a restart. */
export function createAnnouncementsFile(file: string) {
  return {
    /** Announcements by the name of the Model; empty when there is no file, or the file cannot be read. */
    load: async (): Promise<ReadonlyMap<string, Announcement>> => {
      // Lost announcements are made again. The notice of 14 days begins again, so no caller loses a day.
      const { models = [] } = (await readKeptFile(file, fileBody)) ?? {};
      return new Map(models.map(({ name, ...announced }) => [name, announced]));
    },
    /** Replaces the whole file. Rejects when it cannot be written. */
    save: async (announcements: ReadonlyMap<string, Announcement>): Promise<void> => {
      const models = [...announcements].map(([name, { announcedAt, announcedFor }]) => ({
        name,
        announcedAt,
        announcedFor,
      }));
      await replaceFile(file, JSON.stringify({ version: 1, models }));
    },
  };
}
