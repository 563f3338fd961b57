/** One thing that can be asked of the programmable engine: what it accepts, what it means, and how its value is read. */
export interface Directive<T> {
  readonly accepts: string;
  readonly meaning: string;
  /** Throws a DirectiveError that says what was expected. */
  readonly read: (value: unknown) => T;
}

/** The value of a directive is not one it accepts. The message completes the sentence "<name> must be …". */
export class DirectiveError extends Error {}

export function choice<const T extends string>(values: readonly T[], meaning: string): Directive<T> {
  return {
    accepts: values.map((value) => `\`${value}\``).join(', '),
    meaning,
    read: (value) => {
      const found = values.find((one) => one === value);
      if (found === undefined) throw new DirectiveError(`one of ${values.join(', ')}`);
      return found;
    },
  };
}

/** One of the names, or a list of them; read as a list. */
export function choices<const T extends string>(values: readonly T[], meaning: string): Directive<readonly T[]> {
  const one = choice(values, meaning);
  return {
    accepts: `${one.accepts}; or a list of them`,
    meaning,
    read: (value) => (Array.isArray(value) ? value : [value]).map((item) => one.read(item)),
  };
}

export function integer(range: { readonly min: number; readonly max: number }, meaning: string): Directive<number> {
  return {
    accepts: `integer, ${range.min} to ${range.max}`,
    meaning,
    read: (value) => {
      if (typeof value === 'number' && Number.isInteger(value) && value >= range.min && value <= range.max)
        return value;
      throw new DirectiveError(`an integer from ${range.min} to ${range.max}`);
    },
  };
}

export function flag(meaning: string): Directive<boolean> {
  return {
    accepts: '`true`, `false`',
    meaning,
    read: (value) => {
      if (typeof value === 'boolean') return value;
      throw new DirectiveError('true or false');
    },
  };
}

export function text(meaning: string): Directive<string> {
  return {
    accepts: 'string',
    meaning,
    read: (value) => {
      if (typeof value === 'string') return value;
      throw new DirectiveError('a string');
    },
  };
}

/** A list of strings; one string stands for a list of one. */
export function texts(meaning: string): Directive<readonly string[]> {
  const one = text(meaning);
  return {
    accepts: 'string or list of strings',
    meaning,
    read: (value) => (Array.isArray(value) ? value : [value]).map((item) => one.read(item)),
  };
}

/** Any JSON value, kept as it is. */
export function anything(meaning: string): Directive<unknown> {
  return { accepts: 'any JSON', meaning, read: (value) => value };
}
