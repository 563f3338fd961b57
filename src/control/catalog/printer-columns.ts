import type * as z from 'zod';

/** A column of `kubectl get`. */
interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly description: string;
  readonly jsonPath: string;
  /** 1: only with `-o wide`. */
  readonly priority?: 1;
}

/** One of Weir's kinds, with all facts for its CRD and its reference page. */
export interface CustomResource {
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly description: string;
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
  /** The meaning of each condition of the status when it is True. */
  readonly conditions: Readonly<Record<string, string>>;
  readonly columns: readonly PrinterColumn[];
  /** Fields that `kubectl get --field-selector` and watches may filter by. */
  readonly selectable: readonly string[];
}

export const age: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since the object was made.',
};

/** A column that shows the status of a condition. */
export function condition(type: string, description: string, priority?: 1): PrinterColumn {
  const jsonPath = `.status.conditions[?(@.type=="${type}")].status`;
  return { name: type, type: 'string', description, jsonPath, ...(priority && { priority }) };
}

/** A column for `-o wide` with the message of a condition. */
export const messageOf = (type: string, name: string, description: string): PrinterColumn => ({
  name,
  type: 'string',
  description,
  priority: 1,
  jsonPath: `.status.conditions[?(@.type=="${type}")].message`,
});
