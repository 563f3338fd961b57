import { createHmac } from 'node:crypto';
import type { KeyStatus } from '../../core/account.ts';
import type { Clock } from '../../core/clock.ts';
import { isSameSecret } from '../../core/internal-token.ts';
import { type KeyBlock, keyBlockSchema } from '../../core/key-block.ts';

const maxBlocks = 10_000;
/** How long a block holds once the database is back: what waits for the database is then written. */
const holdMs = 60_000;

const signed = ({ keyId, status, at }: KeyBlock, secret: string): string => {
  const text = `${keyId} ${status} ${at}`;
  return `${text} ${createHmac('sha256', secret).update(`weir-key-block ${text}`).digest('base64url')}`;
};

/** Keys that an operator stopped while the database was down, signed with the secret of the database. */
export function createKeyBlocks({
  clock,
  secret,
  isDatabaseUp,
}: {
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly secret: () => string;
  readonly isDatabaseUp: () => boolean;
}) {
  /** `until`: monotonic, counted from the last look at a database that was down. */
  const blocks = new Map<string, KeyBlock & { until: number }>();

  function add(block: KeyBlock): void {
    const known = blocks.get(block.keyId);
    if (known !== undefined ? known.at >= block.at : blocks.size >= maxBlocks) return;
    blocks.set(block.keyId, { ...block, until: clock.elapsed() + holdMs });
  }

  return {
    add,
    /** Takes a block that another replica has signed. Texts of anybody else are left out. */
    take: (text: string): void => {
      const [keyId, status, at] = text.split(' ');
      const { data: block } = keyBlockSchema.safeParse({ keyId, status, at: Number(at) });
      if (block !== undefined && isSameSecret(text, signed(block, secret()))) add(block);
    },
    /** All blocks, signed, for the other replicas. Called twice a second, and holds the blocks while the database is down. */
    texts: (): readonly string[] => {
      const now = clock.elapsed();
      if (!isDatabaseUp()) for (const block of blocks.values()) block.until = now + holdMs;
      return [...blocks.values()].flatMap((block) => (block.until > now ? [signed(block, secret())] : []));
    },
    statusOf: (keyId: string): KeyStatus | undefined => {
      const block = blocks.get(keyId);
      if (block === undefined) return undefined;
      return !isDatabaseUp() || clock.elapsed() < block.until ? block.status : undefined;
    },
  };
}
