"""What asks a machine: its devices, its scheduler, its Spack."""
