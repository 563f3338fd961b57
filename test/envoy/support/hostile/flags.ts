/** The number above zero that a flag has. */
export function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} takes a number above 0.`);
  return value;
}

/** The attackers that `--only` names; all, if it is absent. */
export function chosenAttacks<Name extends string>(only: string | undefined, names: readonly Name[]): readonly Name[] {
  if (only === undefined) return names;
  return only.split(',').map((name) => {
    const known = names.find((one) => one === name.trim());
    if (known === undefined) throw new Error(`There is no attacker "${name}". There are: ${names.join(', ')}.`);
    return known;
  });
}
