import { z } from 'zod';

const indent = ' '.repeat(4);

/** The shown parts of a setting's JSON Schema. A list has addresses, and is shown in the form of the variable. */
const jsonSchema = z.object({
  description: z.string(),
  default: z.union([z.string(), z.number(), z.array(z.string()).transform((list) => list.join(','))]).optional(),
  enum: z.array(z.string()).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
});

/** The settings of a schema, each with its choices or bounds in `takes`. */
export function settingsOf(schema: z.ZodObject) {
  return Object.entries(schema.shape).map(([name, setting]) => {
    const facts = jsonSchema.parse(
      z.toJSONSchema(z.object({ setting }), { io: 'output', unrepresentable: 'any' }).properties?.['setting'],
    );
    const { description, default: initial, enum: choices, minimum, maximum } = facts;
    const bounds = minimum === undefined || maximum === undefined ? undefined : `${minimum} to ${maximum}`;
    return { name, description, initial, takes: choices?.join(' | ') ?? bounds };
  });
}

/** The part of `--help` that lists settings: each with its description, default, bounds and choices, all taken from the schema. */
export function settingsHelp(schema: z.ZodObject): string {
  return settingsOf(schema)
    .map(({ name, description, initial, takes }) => {
      const values = [takes, initial === undefined ? undefined : `default ${initial}`].filter(
        (text) => text !== undefined,
      );
      const shown = values.length === 0 ? '' : `   (${values.join('; ')})`;
      return [`  ${name}${shown}`, ...wrap(description)].join('\n');
    })
    .join('\n');
}

/** A paragraph in lines of at most 120 columns; a word that fits none has a line of its own. */
const wrap = (text: string): readonly string[] =>
  (text.match(/\S(?:.{0,115}(?= |$)|\S*)/g) ?? []).map((line) => `${indent}${line}`);
