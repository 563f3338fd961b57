import { afterAll } from 'vitest';

type Closable = { readonly close: () => unknown } | { readonly stop: () => unknown };

/** Closers of what the file has open. */
const open: (() => unknown)[] = [];

const closerOf =
  (one: Closable): (() => unknown) =>
  async () =>
    'close' in one ? await one.close() : await one.stop();

/**
 * Opens what all tests of a file share. It is closed after the last test, the last opened first. If it cannot be opened, what was opened before
 * is closed at once, because a file that does not load has no last test. Not for a file whose tests may all be skipped: it has none, either.
 */
export async function forFile<Opened extends Closable | readonly Closable[]>(
  opening: Opened | Promise<Opened>,
): Promise<Opened> {
  try {
    const opened = await opening;
    const all: readonly Closable[] = 'length' in opened ? opened : [opened];
    const close = async (): Promise<void> => {
      await Promise.all(all.map((one) => closerOf(one)()));
    };
    open.push(close);
    afterAll(async () => {
      open.splice(open.indexOf(close), 1);
      await close();
    });
    return opened;
  } catch (error) {
    for (const close of open.splice(0).toReversed()) await close();
    throw error;
  }
}
