/** Number of colours of series, in the order of tokens.css. */
const colours = 8;

/** The colour of the sum of all that have no series of their own. */
export const othersColour = '--series-others';

export interface Named {
  readonly name: string;
  /** A token. Undefined: the one of the place of the series. */
  readonly colour?: string | undefined;
}

/** The token of a series' colour. */
export const colourOf = ({ colour }: Named, index: number): string => colour ?? `--series-${(index % colours) + 1}`;

/** The names of the series of one or more charts. Screen readers read the table of each chart. */
export function Legend({ of }: { readonly of: readonly Named[] }) {
  return (
    <ul className="legend" aria-hidden>
      {of.map((series, index) => (
        <li key={index}>
          <span className="swatch" style={{ background: `var(${colourOf(series, index)})` }} />
          {series.name}
        </li>
      ))}
    </ul>
  );
}
