import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { ledgerColumnNames, type LedgerTable } from './schema.ts';

/** Before each record: the length of its text and the CRC-32 of it, 32 bits each, little-endian. */
const headBytes = 8;
/** A row is under a kilobyte; a length beyond this is no length. */
const maxRecordBytes = 64 * 1024;

const whole = z
  .string()
  .regex(/^-?\d{1,19}$/)
  .transform(BigInt);

/** A row as an earlier version may have written it too: a column that is added later needs a default here. */
const rowSchema = z.object({
  request_id: z.string(),
  correlation_id: z.string(),
  workspace_id: z.string(),
  key_id: z.string(),
  model_id: z.string(),
  route_id: z.string().nullable(),
  surface: z.enum(['chat', 'messages']),
  stream: whole,
  kind: z.enum(['completed', 'cancelled', 'interrupted', 'incomplete', 'failed', 'service-lost']),
  prompt_tokens: whole,
  completion_tokens: whole,
  cached_tokens: whole.nullable(),
  reasoning_tokens: whole.nullable(),
  counted_by: z.enum(['engine', 'tokenizer', 'estimate']),
  web_searches: whole.nullable().default(null),
  cost: whole,
  attempts: whole,
  started_at: whole,
  first_token_ms: whole.nullable(),
  duration_ms: whole,
}) satisfies z.ZodType<LedgerTable>;

/** The record of a row: its head, then JSON. */
export function journalRecord(row: LedgerTable): Buffer {
  const fields = Object.fromEntries(
    ledgerColumnNames.map((name) => {
      const value = row[name];
      return [name, typeof value === 'bigint' ? value.toString() : value];
    }),
  );
  const text = Buffer.from(JSON.stringify(fields));
  const record = Buffer.allocUnsafe(headBytes + text.length);
  record.writeUInt32LE(text.length, 0);
  record.writeUInt32LE(crc32(text), 4);
  text.copy(record, headBytes);
  return record;
}

/** What a file of records holds. */
export interface RecordedRows {
  readonly rows: readonly LedgerTable[];
  /** Where the readable records end. What follows, if anything does, was cut off while it was written, or is damaged. */
  readonly endBytes: number;
}

/** Reads records from the beginning of a file up to its end or to the first that is not whole. Never throws. */
export function readRecords(bytes: Buffer): RecordedRows {
  const rows: LedgerTable[] = [];
  let position = 0;
  while (position + headBytes <= bytes.length) {
    const length = bytes.readUInt32LE(position);
    const end = position + headBytes + length;
    if (length === 0 || length > maxRecordBytes || end > bytes.length) break;
    const text = bytes.subarray(position + headBytes, end);
    if (crc32(text) !== bytes.readUInt32LE(position + 4)) break;
    const row = parsed(text);
    if (row === undefined) break;
    rows.push(row);
    position = end;
  }
  return { rows, endBytes: position };
}

function parsed(text: Buffer): LedgerTable | undefined {
  try {
    return rowSchema.parse(JSON.parse(text.toString()));
  } catch {
    return undefined;
  }
}
