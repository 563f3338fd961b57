import { appendFileSync } from 'node:fs';
import { fileWriter, ParquetWriter } from 'hyparquet-writer';
import { type NamedRequest, plainValue, type RequestField, requestFields } from '../../books/core/request-fields.ts';
import { csvLines } from './tables.ts';

/** A column in the form of the library. */
type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

/** Writes requests to a file, some at a time. Each call throws the error of the file system. */
export interface ExportWriter {
  write(requests: readonly NamedRequest[]): void;
  /** Writes the remaining requests, so that the file is complete. */
  end(): void;
}

/** The writer of each format, for a file that exists and is empty. */
export const exportWriters = {
  csv: csvWriter,
  parquet: parquetWriter,
} as const satisfies Readonly<Record<string, (file: string) => ExportWriter>>;

function csvWriter(file: string): ExportWriter {
  appendFileSync(file, csvLines([requestFields.map(({ name }) => name)]));
  return {
    write: (requests) => {
      const rows = requests.map((request) => requestFields.map((field) => plainValue(field, request)));
      appendFileSync(file, csvLines(rows));
    },
    end: () => undefined,
  };
}

/**
 * Number of rows that are kept in memory and written together. Readers skip groups of rows, and columns of few rows
 * compress badly.
 */
const rowsInGroup = 50_000;

function parquetWriter(file: string): ExportWriter {
  const schema: SchemaElement[] = [
    { name: 'requests', num_children: requestFields.length },
    ...requestFields.map(schemaOf),
  ];
  const writer = new ParquetWriter({ writer: fileWriter(file), schema, createdBy: 'weir' });
  let held: NamedRequest[] = [];
  const writeHeld = (): void => {
    const columnData = requestFields.map((field) => ({
      name: field.name,
      data: held.map((request) => parquetValue(field, request)),
    }));
    // Writing to a file is synchronous; only other writers return promises.
    void writer.write({ columnData, rowGroupSize: rowsInGroup });
    held = [];
  };
  return {
    write: (requests) => {
      for (const request of requests) {
        held.push(request);
        if (held.length === rowsInGroup) writeHeld();
      }
    },
    end: () => {
      if (held.length > 0) writeHeld();
      void writer.finish();
    },
  };
}

/** Every column is optional, so that readers handle a null of a later version in the same way. */
function schemaOf({ name, kind }: RequestField): SchemaElement {
  const column = { name, repetition_type: 'OPTIONAL' } as const;
  switch (kind) {
    case 'text':
      return { ...column, type: 'BYTE_ARRAY', converted_type: 'UTF8' };
    case 'flag':
      return { ...column, type: 'BOOLEAN' };
    case 'count':
      return { ...column, type: 'INT64' };
    case 'money':
      // USD, exact. Amounts have 12 decimals, and readers accept at most 38 digits.
      return {
        ...{ ...column, type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 },
        ...{ converted_type: 'DECIMAL', precision: 38, scale: 12 },
      };
    case 'moment':
      // The older type also means UTC, but DuckDB reads it as a time without a zone.
      return {
        ...{ ...column, type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
      };
  }
}

/** A decimal is written from a bigint of its last digits, a moment from a Date. */
function parquetValue(field: RequestField, request: NamedRequest): string | boolean | bigint | Date | null {
  switch (field.kind) {
    case 'count': {
      const count = field.read(request);
      return count === null ? null : BigInt(count);
    }
    case 'moment':
      return new Date(field.read(request));
    case 'text':
    case 'flag':
    case 'money':
      return field.read(request);
  }
}
