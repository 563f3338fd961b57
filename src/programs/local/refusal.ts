/** A reason not to start, in words for the operator: what is wrong, where, and what to do. */
export class StartRefusal extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StartRefusal';
  }
}

/** A reason that lies in the settings and not in the command line. */
export class SettingRefusal extends StartRefusal {}
