import { z } from 'zod';

/** Deepest nesting of a caller's own JSON. What is read in a worker is copied to the main thread, whose stack has an end. */
const maxDepth = 256;

function isWithin(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isWithin(levels - 1, inner));
}

/** A JSON object that is handed on as it is: a JSON Schema, or a tool's input. */
export const jsonObject = z
  .record(z.string(), z.unknown())
  .refine((value) => isWithin(maxDepth, value), `nested deeper than ${maxDepth} levels`);
