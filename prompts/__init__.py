"""Every word that a model is told: one YAML file per prompt (description, variables, template)."""
