/** Drops what is absent, so that absent and null cannot be told apart afterwards. */
export function present<T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the keys are those of the argument
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}
