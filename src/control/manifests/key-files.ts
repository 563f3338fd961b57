import { createHash } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeySecret, KeySecrets } from '../core/key-secrets.ts';
import { maxSecretBytes, readBoundedFile } from '../../process/bounded-file.ts';
import { replaceFile } from '../../process/kept-file.ts';

/** The Secrets that Weir makes for the ApiKeys of a manifest folder: a folder each, with the file `key`, as a Secret is mounted. */
interface KeyFiles extends KeySecrets {
  /** Removes the Secret of this name if it was made for this ApiKey. */
  readonly remove: (apiKey: string, name: string) => Promise<void>;
}

/** The files of a Secret: the text of the key, and the name of the ApiKey that it was made for. */
const textFile = 'key';
const ownerFile = 'owner';

export function createKeyFiles(root: string): KeyFiles {
  async function look(
    name: string,
  ): Promise<{ readonly owner: string | undefined; readonly secret: KeySecret } | undefined> {
    const [text, owner] = await Promise.all([
      readText(join(root, name, textFile)),
      readText(join(root, name, ownerFile)),
    ]);
    if (text === undefined && owner === undefined) return undefined;
    const resourceVersion = createHash('sha256')
      .update(JSON.stringify([text, owner]))
      .digest('hex');
    return { owner, secret: { text, isOurs: false, resourceVersion } };
  }

  return {
    read: async ({ name: apiKey }, name) => {
      const found = await look(name);
      return found && { ...found.secret, isOurs: found.owner === apiKey };
    },
    create: async ({ name: apiKey }, name, text) => {
      if ((await look(name)) !== undefined) return false;
      await mkdir(join(root, name), { recursive: true, mode: 0o700 });
      await put(join(root, name, ownerFile), apiKey);
      await put(join(root, name, textFile), text);
      return true;
    },
    replace: async ({ name: apiKey }, { name, resourceVersion }, text) => {
      const found = await look(name);
      if (found?.owner !== apiKey || found.secret.resourceVersion !== resourceVersion) return false;
      await put(join(root, name, textFile), text);
      return true;
    },
    remove: async (apiKey, name) => {
      if ((await look(name))?.owner === apiKey) await rm(join(root, name), { recursive: true });
    },
  };
}

async function readText(file: string): Promise<string | undefined> {
  try {
    return String(await readBoundedFile(file, maxSecretBytes)).trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

const put = (file: string, text: string): Promise<void> => replaceFile(file, `${text}\n`, 0o600);
