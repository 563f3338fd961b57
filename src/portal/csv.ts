import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import { z } from 'zod';

export const contentTypes = { json: 'application/json; charset=utf-8', csv: 'text/csv; charset=utf-8' } as const;

/** Whether the caller wants CSV: the greater weight of `Accept` decides, of equal ones the first. JSON in all other cases. */
export function wantsCsv(request: FastifyRequest): boolean {
  return new Negotiator(request).mediaType([contentTypes.json, contentTypes.csv]) === contentTypes.csv;
}

/** The answer of a route that has both types, for its schema. */
export function jsonOrCsv<Schema extends z.ZodType>(
  json: Schema,
  { description, csv }: { readonly description: string; readonly csv: string },
) {
  return {
    description,
    content: {
      'application/json': { schema: json },
      'text/csv': { schema: z.string().meta({ description: csv }) },
    },
  };
}

type Cell = string | number | boolean | null | undefined;
export type CsvRow = readonly Cell[];

/**
 * Answers with a file of CSV that is written while its rows are read, and at the pace of its reader. The first rows are
 * awaited, so that an error before them is an answer of its own.
 */
export async function sendCsv(
  reply: FastifyReply,
  {
    file,
    columns,
    rows,
  }: { readonly file: string; readonly columns: readonly string[]; readonly rows: AsyncIterable<readonly CsvRow[]> },
): Promise<FastifyReply> {
  const pages = rows[Symbol.asyncIterator]();
  const first = await pages.next();
  async function* text(): AsyncGenerator<string> {
    yield csvText([columns]);
    for (let page = first; page.done !== true; page = await pages.next()) yield csvText(page.value);
  }
  // The serializer of the route's schema is for JSON.
  return reply
    .header('content-disposition', `attachment; filename="${file}"`)
    .type(contentTypes.csv)
    .send(Readable.from(text()));
}

const decimal = /^-?\d+(\.\d+)?$/;

/** Rows as CSV. An apostrophe precedes text that a spreadsheet would read as a formula: people choose names. An amount is none. */
export function csvText(rows: readonly CsvRow[]): string {
  return stringify(
    rows.map((row) => [...row]),
    {
      escape_formulas: true,
      cast: {
        boolean: String,
        string: (value) => (decimal.test(value) ? { value, escape_formulas: false } : value),
      },
    },
  );
}
