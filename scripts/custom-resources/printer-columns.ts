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

/** A column that shows a field, as a text unless `how` has another type. */
export function column(
  name: string,
  jsonPath: string,
  description: string,
  how: Partial<Pick<PrinterColumn, 'type' | 'priority'>> = {},
): PrinterColumn {
  return { name, type: 'string', description, jsonPath, ...how };
}

/** A column that shows the status of a condition. */
export function condition(type: string, description: string, priority?: 1): PrinterColumn {
  const jsonPath = `.status.conditions[?(@.type=="${type}")].status`;
  return column(type, jsonPath, description, priority && { priority });
}

/** A column for `-o wide` with the message of a condition. */
export const messageOf = (type: string, name: string, description: string): PrinterColumn =>
  column(name, `.status.conditions[?(@.type=="${type}")].message`, description, { priority: 1 });

export const age = column('Age', '.metadata.creationTimestamp', 'Time since the object’s creation.', { type: 'date' });
