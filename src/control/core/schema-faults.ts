import * as z from 'zod';
import { fieldPath } from '../../core/failure.ts';
import { didYouMean } from '../../core/near-name.ts';

/** One fault of a value that a schema describes: its place, and what was expected there. */
export interface SchemaFault {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Words for what zod expects. Only kinds of values are named, never the value itself: it may be a secret. */
const nouns: ReadonlyMap<string, string> = new Map([
  ['string', 'text'],
  ['number', 'a number'],
  ['int', 'a whole number'],
  ['boolean', 'true or false'],
  ['array', 'a list'],
  ['object', 'a group of fields'],
  ['record', 'a group of fields'],
]);

function nounOf(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (Number.isNaN(value)) return 'something else';
  if (typeof value === 'number' && !Number.isInteger(value)) return 'a number that is not whole';
  return nouns.get(typeof value) ?? typeof value;
}

function quoted(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value) ?? String(value)).join(', ');
}

const units: Readonly<Record<string, string>> = { string: ' characters', array: ' entries' };

/** Returns in words what was expected. zod calls it as the error map; a message declared beside a field wins over it. */
export function expectation(issue: z.core.$ZodRawIssue): string {
  const missing = issue.input === undefined ? 'required, ' : '';
  switch (issue.code) {
    case 'invalid_type':
      return `${missing}expected ${nouns.get(issue.expected) ?? issue.expected}${missing ? '' : `, got ${nounOf(issue.input)}`}`;
    case 'invalid_value':
      return `${missing}expected ${issue.values.length > 1 ? 'one of ' : ''}${quoted(issue.values)}${wasOff(issue)}${meant(issue.input, issue.values)}`;
    case 'too_big':
      return `expected at most ${issue.maximum}${units[issue.origin] ?? ''}`;
    case 'too_small':
      return `expected at least ${issue.minimum}${units[issue.origin] ?? ''}`;
    case 'invalid_format':
      return `expected ${issue.format}`;
    // The known fields are listed, because a misspelt optional field would otherwise be hard to find.
    case 'unrecognized_keys':
      return `unknown field, expected one of: ${knownFields(issue.inst).join(', ')}`;
    // These messages are declared beside the fields or made in `faultsOf`, or our schemas cannot cause them.
    case 'custom':
    case 'invalid_key':
    case 'invalid_element':
    case 'invalid_union':
    case 'not_multiple_of':
      return 'expected another value';
  }
}

function knownFields(schema: unknown): readonly string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/** A hint that names one of the expected values, never the value itself. */
function meant(input: unknown, values: readonly unknown[]): string {
  return typeof input === 'string' ? didYouMean(input, values.map(String)) : '';
}

/** A hint for an unquoted Off, which YAML 1.1 reads as false. */
function wasOff(issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidValue>): string {
  return issue.input === false && issue.values.includes('Off') ? '; write Disabled' : '';
}

/**
 * The faults of a failed parse, one per field. zod groups unknown fields, nests the faults of a record's key, and
 * reports every rule that a text breaks. Of these rules the last one is reported, because it is the most helpful: rules
 * on length come first.
 */
export function faultsOf(error: z.ZodError): readonly SchemaFault[] {
  const faults = error.issues.flatMap((issue): readonly SchemaFault[] => {
    if (issue.code === 'unrecognized_keys') {
      // The error map gets all unknown fields at once, and each has another near one.
      const known = issue.message.slice(issue.message.indexOf(':') + 2).split(', ');
      return issue.keys.map((key) => ({
        path: [...issue.path, key],
        message: `${issue.message}${didYouMean(key, known)}`,
      }));
    }
    if (issue.code === 'invalid_key') {
      const reason = issue.issues[0]?.message ?? 'expected another name';
      return [{ path: issue.path, message: `name not allowed: ${reason}` }];
    }
    return [{ path: issue.path, message: issue.message }];
  });
  return [...new Map(faults.map((fault) => [fieldPath(fault.path), fault])).values()];
}
